"""What programs derive their own observers from."""

from __future__ import annotations

from heddle.kernel_tuner._missing import missing_class


def __getattr__(name):
    raise missing_class(__name__, name)


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
