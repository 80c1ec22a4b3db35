"""Small functions that programs written for Kernel Tuner import by name."""

from __future__ import annotations

import json
import math
import sys
from contextlib import contextmanager

import numpy as np

from heddle.errors import InputError

default_block_size_names = ["block_size_x", "block_size_y", "block_size_z"]


class ErrorConfig(str):
    """What takes the place of a result where there is none."""

    def __str__(self):
        return type(self).__name__

    __repr__ = __str__


class InvalidConfig(ErrorConfig):
    """The device or a restriction does not allow it."""


class CompilationFailedConfig(ErrorConfig):
    """The compiler refused it."""


class RuntimeFailedConfig(ErrorConfig):
    """It could not be launched, failed while it ran, or computed something wrong."""


#: By their names, as a cache file has them.
ERRORS = {each.__name__: each for each in (ErrorConfig, InvalidConfig, CompilationFailedConfig, RuntimeFailedConfig)}


class NpEncoder(json.JSONEncoder):
    """Writes NumPy's numbers and arrays as JSON."""

    def default(self, obj):
        if isinstance(obj, (np.integer, np.floating, np.bool_)):
            return obj.item()
        if isinstance(obj, np.ndarray):
            return obj.tolist()
        return super().default(obj)


@contextmanager
def unwritable(argument: str, file):
    """A file that cannot be written is an error of one line."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{argument}: {str(file)!r} cannot be written: {error.strerror}") from None


_HIGHER_IS_BETTER = {"fitness"} | {
    f"{prefix}{unit}" for prefix in "GT" for unit in ("FLOP/s", "B/s", "FLOPS/W", "FLOP/J")
}
_LOWER_IS_BETTER = {"time", "energy", "cost", "loss"}


def get_objective_defaults(objective=None, objective_higher_is_better=None):
    """The objective, by default the time, and whether more of it is better.

    Raises
    ------
    ValueError
        That is not known of the objective, and was not said.
    """
    objective = objective or "time"
    if objective_higher_is_better is None:
        if objective not in _HIGHER_IS_BETTER | _LOWER_IS_BETTER:
            raise ValueError(f"objective {objective!r}: objective_higher_is_better has to say whether more is better")
        objective_higher_is_better = objective in _HIGHER_IS_BETTER
    return objective, objective_higher_is_better


def get_config_string(params, keys=None, units=None) -> str:
    """``"block_size_x=128, time=0.012ms"``, of these keys or all."""
    words = []
    for key, value in params.items():
        if keys and key not in keys:
            continue
        unit = units.get(key, "") if isinstance(units, dict) and not isinstance(value, ErrorConfig) else ""
        words.append(f"{key}={value:.3f}{unit}" if isinstance(value, float) else f"{key}={value}{unit}")
    return ", ".join(words)


def get_instance_string(params) -> str:
    return "_".join(str(value) for value in params.values())


def get_best_config(results, objective, objective_higher_is_better=False):
    """The result whose objective is best; those that failed are worse than all others."""
    sign = -1 if objective_higher_is_better else 1

    def cost(result):
        value = result.get(objective)
        sound = "__error__" not in result and isinstance(value, (float, int)) and not math.isnan(value)
        return sign * value if sound else sys.float_info.max

    return min(results, key=cost)


def get_pareto_results(results, objectives, objective_higher_is_better, mark_optima=True):
    """The results that no other one beats in every objective."""
    signs = [-1 if higher else 1 for higher in objective_higher_is_better]
    costs = [
        [math.inf] * len(objectives)
        if "__error__" in result
        else [sign * result[name] for sign, name in zip(signs, objectives)]
        for result in results
    ]

    def beaten(mine):
        return any(all(a <= b for a, b in zip(other, mine)) and other != mine for other in costs)

    front = [result for result, cost in zip(results, costs) if not beaten(cost)]
    if mark_optima:
        for result in front:
            result["optimal"] = True
    return front


def process_metrics(params, metrics):
    """Adds what the user derives from a result: expressions, or functions of the result, in their order."""
    if metrics is None:
        return params
    if not isinstance(metrics, dict):
        raise ValueError("metrics: expected a dict, whose order says which may use which")
    for name, metric in metrics.items():
        if isinstance(metric, str):
            params[name] = evaluate(metric, params)
        elif callable(metric):
            params[name] = metric(params)
        else:
            raise ValueError(f"metrics: {name!r} is {metric!r}, expected an expression or a function")
    return params


def evaluate(expression: str, names: dict):
    """The value of a Python expression over parameters, which the user's own program wrote."""
    return eval(expression, {"np": np, "numpy": np, "math": math}, dict(names))
