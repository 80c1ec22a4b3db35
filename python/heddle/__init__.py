"""Fuzzy and small neural networks as scikit-learn estimators, trained by kernels tuned for the device at hand."""

import importlib

from heddle._heddle import Model, devices
from heddle._heddle import version as __version__
from heddle.errors import DeviceError, Error, InputError, ProfilesError, UsageError
from heddle.mlp import MlpClassifier, MlpRegressor
from heddle.rules import Rules
from heddle.sonfin import SonfinClassifier, SonfinRegressor
from heddle.tsk import TskClassifier, TskRegressor

__all__ = [
    "DeviceError",
    "Error",
    "InputError",
    "MlpClassifier",
    "MlpRegressor",
    "Model",
    "ProfilesError",
    "Rules",
    "SonfinClassifier",
    "SonfinRegressor",
    "TskClassifier",
    "TskRegressor",
    "UsageError",
    "__version__",
    "devices",
]

# Tables and reports need pandas and plotly, which take longer to import than a small training.
_LATER = {"measurements": "frames", "profiles": "frames", "regret": "frames", "report": "reports", "tune": "tuning"}
__all__ += list(_LATER)


def __getattr__(name):
    if name in _LATER:
        return getattr(importlib.import_module(f"heddle.{_LATER[name]}"), name)
    raise AttributeError(f"module 'heddle' has no attribute {name!r}")
