"""Kernel Tuner's functions on heddle: ``import heddle.kernel_tuner as kernel_tuner``.

`tune_kernel`, `run_kernel`, `store_results` and `create_device_targets` take the arguments of Kernel Tuner 1.5.0 and return
what it returns; what was measured goes into heddle's profile database as well. Configurations are compiled side by side,
and run in a process of their own: one that fails, hangs or reads beyond its memory becomes an entry with ``__error__``.

``HEDDLE_KERNEL_TUNER_DEVICE`` names another device than the GPU whose number the call gives: ``emulator`` finds the faults
of a kernel where there is no GPU; its times mean nothing, and it refuses kernels that declare ``__shared__`` variables.
"""

from heddle.kernel_tuner import observers, util
from heddle.kernel_tuner._missing import report_missing_modules
from heddle.kernel_tuner.integration import create_device_targets, store_results
from heddle.kernel_tuner.interface import run_kernel, tune_kernel

report_missing_modules()

__all__ = ["create_device_targets", "observers", "run_kernel", "store_results", "tune_kernel", "util"]
__version__ = "1.5.0"  # of the interface


def __getattr__(name):
    if name == "strategies":
        import heddle.kernel_tuner.strategies as strategies

        return strategies
    raise AttributeError(f"module 'heddle.kernel_tuner' has no attribute {name!r}")
