"""Fuzzy and small neural networks as scikit-learn estimators, trained by kernels tuned for the device at hand."""

import importlib

from heddle import _heddle
from heddle._heddle import devices

__version__ = _heddle.version

__all__ = ["devices"]

# Tables and reports need pandas and plotly, which take longer to import than a small training.
_LATER = {"profiles": "frames", "measurements": "frames", "regret": "frames", "report": "reports"}
__all__ += list(_LATER)


def __getattr__(name):
    if name in _LATER:
        return getattr(importlib.import_module(f"heddle.{_LATER[name]}"), name)
    raise AttributeError(f"module 'heddle' has no attribute {name!r}")
