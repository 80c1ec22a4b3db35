"""Fuzzy and small neural networks as scikit-learn estimators, trained by kernels tuned for the device at hand."""

import importlib
from typing import TYPE_CHECKING

from heddle._heddle import Model, devices
from heddle._heddle import version as __version__
from heddle.errors import DeviceError, Error, InputError, ProfilesError, UsageError

if TYPE_CHECKING:
    from heddle.frames import measurements, profiles, regret
    from heddle.kernel import Kernel
    from heddle.mlp import MlpClassifier, MlpRegressor
    from heddle.reports import report
    from heddle.rules import Rules
    from heddle.sonfin import SonfinClassifier, SonfinRegressor
    from heddle.tsk import TskClassifier, TskRegressor
    from heddle.tuning import tune

__all__ = [
    "DeviceError",
    "Error",
    "InputError",
    "Kernel",
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
    "measurements",
    "profiles",
    "regret",
    "report",
    "tune",
]

# Imported when they are first asked for: estimators need scikit-learn, tables pandas and reports plotly, each of which takes
# longer to import than a small training.
_MODULES = {
    "frames": ("measurements", "profiles", "regret"),
    "kernel": ("Kernel",),
    "mlp": ("MlpClassifier", "MlpRegressor"),
    "reports": ("report",),
    "rules": ("Rules",),
    "sonfin": ("SonfinClassifier", "SonfinRegressor"),
    "tsk": ("TskClassifier", "TskRegressor"),
    "tuning": ("tune",),
}
_LATER = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name):
    if name in _LATER:
        found = getattr(importlib.import_module(f"heddle.{_LATER[name]}"), name)
        globals()[name] = found
        return found
    raise AttributeError(f"module 'heddle' has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__})
