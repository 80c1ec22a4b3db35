"""Fuzzy and small neural networks as scikit-learn estimators, trained by kernels tuned for the device at hand."""

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
