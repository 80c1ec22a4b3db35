"""Fuzzy and small neural networks as scikit-learn estimators, trained by kernels tuned for the device at hand."""

from heddle import _heddle
from heddle._heddle import devices

__version__ = _heddle.version

__all__ = ["devices"]
