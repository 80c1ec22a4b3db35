"""What is observed beside the time of a configuration."""

from __future__ import annotations

from heddle.errors import UsageError
from heddle.kernel_tuner._missing import missing_class
from heddle.kernel_tuner.observers.observer import BenchmarkObserver


__all__ = ["BenchmarkObserver"]


def __getattr__(name):
    raise missing_class(__name__, name)


def prepared(observers, device: dict) -> list:
    """The observers of a call: objects, or functions that make them.

    Raises
    ------
    UsageError
        What is no observer of this package.
    """
    found = []
    for each in observers or []:
        observer = each() if callable(each) and not isinstance(each, BenchmarkObserver) else each
        if not isinstance(observer, BenchmarkObserver):
            raise UsageError(f"observers: found {type(observer).__name__}, expected one of heddle.kernel_tuner.observers")
        observer.register_device(device)
        found.append(observer)
    return found
