"""What is observed beside the time of a configuration."""

from __future__ import annotations

from heddle.errors import UsageError


class BenchmarkObserver:
    """Watches the measurement of each configuration; derive from it, and return a dict of results.

    The kernel runs in another process: an observer sees when the measurement of a configuration begins and ends, and not
    each launch.
    """

    def register_device(self, dev):
        """`dev`: a dict with ``name``, ``label`` and more of the device."""
        self.dev = dev

    def register_configuration(self, params):
        """Called with the parameters before a configuration is measured."""

    def before_start(self):
        """Called before the measurement."""

    def after_start(self):
        """Called after it, before `during`."""

    def during(self):
        """Called once."""

    def after_finish(self):
        """Called last."""

    def get_results(self) -> dict:
        """What is added to the result of the configuration."""
        raise NotImplementedError


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
