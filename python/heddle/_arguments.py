"""Arguments of functions as C++ takes them. What makes no sense is an error of one line, which names the argument."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Iterable, Mapping

from heddle.errors import UsageError


def text(name: str, value, expected: str = "a text") -> str:
    """A word or a sentence."""
    if not isinstance(value, str):
        raise UsageError(f"{name}: found {_shown(value)}, expected {expected}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{name}: found {_shown(value)}, which is no Unicode text, expected {expected}") from None
    return value


def device_label(device) -> str:
    """The parameter ``device``; empty: the best one."""
    return "" if device is None else text("device", device, "a label such as 'cuda:0' or 'cpu'")


def file_name(name: str, file) -> str:
    """A path for C++; empty for None."""
    return "" if file is None else text(name, path_text(name, file), "a path")


def path_text(name: str, file) -> str:
    """A path for Python, which takes names that are no Unicode, too."""
    try:
        return os.fsdecode(file)
    except TypeError:
        raise UsageError(f"{name}: found {_shown(file)}, expected a path") from None


def whole(name: str, value, least: int, most: int = 2**63 - 1) -> int:
    """A whole number of any library."""
    try:
        number = operator.index(value)
    except TypeError:
        raise UsageError(f"{name}: found {_shown(value)}, expected a whole number") from None
    if not least <= number <= most:
        raise UsageError(f"{name}: found {number}, expected {least} to {most}")
    return number


def seconds(name: str, value) -> float:
    """A time above 0."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not 0 < number < math.inf:
        raise UsageError(f"{name}: found {_shown(value)}, expected seconds above 0")
    return number


def listed(name: str, values) -> list:
    """The elements of anything that has several and is no text or dict."""
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise UsageError(f"{name}: found {_shown(values)}, expected a list")
    return list(values)


def sizes(name: str, problem) -> dict[str, int]:
    """Whole numbers by their names."""
    if not isinstance(problem, Mapping):
        raise UsageError(f"{name}: found {_shown(problem)}, expected a dict of sizes")
    return {text(f"{name}: a name", each): whole(f"{name}: {each}", size, -(2**63)) for each, size in problem.items()}


def _shown(value) -> str:
    """A short value as it is written, in one line; of others their type."""
    if value is None or isinstance(value, (str, bytes, bool, int, float)):
        return ascii(value[:40] if isinstance(value, (str, bytes)) else value)[:60]
    return type(value).__name__
