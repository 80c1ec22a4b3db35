"""One clear error for modules and classes of Kernel Tuner's that heddle does not have."""

from __future__ import annotations

import sys

from heddle.errors import UsageError

_PACKAGE = "heddle.kernel_tuner"
_THERE = (
    "file_utils, integration, interface, kernelbuilder, observers, observers.nvml, observers.observer, strategies and util"
)


class MissingError(UsageError, ModuleNotFoundError):
    """What a program imports is not there. An `ImportError`, as programs expect that do without it then."""


class _Finder:
    """Comes behind all other finders, and so sees only what none of them found."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.startswith(f"{_PACKAGE}."):
            raise MissingError(f"{name}: heddle has no such module of Kernel Tuner's, but {_THERE}")
        return None


def report_missing_modules() -> None:
    if _Finder not in sys.meta_path:
        sys.meta_path.append(_Finder)


def missing_class(module: str, name: str) -> Exception:
    """The error for a name that `module` is asked for: of a class of Kernel Tuner's, or of anything."""
    if name.endswith("Observer"):
        return MissingError(f"{module}: heddle has no {name}, but BenchmarkObserver and, in {_PACKAGE}.observers.nvml, NVMLObserver")
    return AttributeError(f"module {module!r} has no attribute {name!r}")
