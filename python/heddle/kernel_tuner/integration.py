"""Files with the best configurations of several devices, and a C header made from them."""

from __future__ import annotations

import json
import re
from pathlib import Path

from heddle.errors import InputError
from heddle.kernel_tuner.source import text_of
from heddle.kernel_tuner.util import NpEncoder, get_objective_defaults, unwritable

_VERSION = "1.0"  # of the format, which is Kernel Tuner's


def _sizes(problem_size) -> str:
    listed = problem_size if isinstance(problem_size, (tuple, list)) else (problem_size,)
    return "x".join(str(size) for size in listed)


def _identifier(device_name: str) -> str:
    return re.sub("[^0-9a-zA-Z]+", "_", device_name.strip())


def _read(file) -> dict:
    try:
        found = json.loads(Path(file).read_text(encoding="utf-8"))
        found["data"]
        return found
    except OSError as error:
        raise InputError(f"{str(file)!r}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{str(file)!r}: is no file of store_results") from None


def store_results(results_filename, kernel_name, kernel_string, tune_params, problem_size, results, env, top=3,
                  objective=None, objective_higher_is_better=None):
    """Keeps the configurations that are at most `top` percent from the best one, for this device and problem size.

    Parameters
    ----------
    results_filename : path
        A JSON file. What it has for other devices and sizes stays.
    kernel_name, kernel_string : str
        Of the kernel.
    tune_params : dict
        As of `tune_kernel`.
    problem_size : int or tuple
        As of `tune_kernel`.
    results : list of dict
        As `tune_kernel` returns it.
    env : dict
        The environment that `tune_kernel` returns: its ``device_name``.
    top : float
        Percent.
    objective, objective_higher_is_better
        As of `tune_kernel`.

    Raises
    ------
    InputError
        The file is another kind of file, of another kernel, or cannot be written; or no result has the objective.
    """
    objective, higher = get_objective_defaults(objective, objective_higher_is_better)
    sound = [result for result in results if objective in result and "__error__" not in result]
    if not sound:
        raise InputError(f"results: none has {objective!r}")
    best = (max if higher else min)(result[objective] for result in sound)
    limit = best * (1 - top / 100 if higher else 1 + top / 100)
    place = {"device_name": _identifier(env["device_name"]), "problem_size": _sizes(problem_size)}
    rows = [
        {**place, "tunable_parameters": {name: result[name] for name in tune_params}, objective: result[objective]}
        for result in sound
        if result[objective] == best or (result[objective] > limit if higher else result[objective] < limit)
    ]
    text = kernel_string if isinstance(kernel_string, (str, Path)) else ""
    meta = {
        "version_number": _VERSION,
        "kernel_name": kernel_name,
        "kernel_string": text_of(text) if text else "",
        "objective": objective,
        "objective_higher_is_better": higher,
        "tunable_parameters": list(tune_params),
    }
    if Path(results_filename).is_file():
        found = _read(results_filename)
        for name in ("kernel_name", "objective", "tunable_parameters"):
            if found.get(name) != meta[name]:
                raise InputError(f"{str(results_filename)!r}: has results for {name} {found.get(name)!r}, expected {meta[name]!r}")
        kept = [row for row in found["data"] if {name: row.get(name) for name in place} != place]
        rows, meta = kept + rows, found
    meta["data"] = rows
    temporary = Path(f"{results_filename}.new")
    with unwritable("results_filename", results_filename):
        temporary.write_text(json.dumps(meta, cls=NpEncoder, indent=1), encoding="utf-8")
        temporary.replace(results_filename)


def _chosen(rows, objective, higher) -> dict:
    """The parameters that lose least over all devices and sizes of these rows."""
    groups: dict[str, list] = {}
    for row in rows:
        groups.setdefault(f"{row['device_name']} {row['problem_size']}", []).append(row)
    share: dict[str, list] = {}
    for group in groups.values():
        best = (max if higher else min)(row[objective] for row in group)
        for row in group:
            part = row[objective] / best if higher else best / row[objective]
            share.setdefault(json.dumps(row["tunable_parameters"]), []).append(part)
    # First those that are among the best of most groups, then by what they reach there.
    text = max(share, key=lambda key: (len(share[key]), sum(share[key])))
    return json.loads(text)


def create_device_targets(header_filename, results_filename, objective=None, objective_higher_is_better=None):
    """Writes a C header with the best parameters of each device, chosen by a macro ``TARGET_`` and the device's name.

    Parameters
    ----------
    header_filename : path
        Is written over.
    results_filename : path
        A file of `store_results`.
    objective, objective_higher_is_better
        As of `tune_kernel`; by default those of the file.

    Raises
    ------
    InputError
        The file is another kind of file.
    """
    found = _read(results_filename)
    objective, higher = get_objective_defaults(
        objective or found.get("objective"),
        objective_higher_is_better if objective_higher_is_better is not None else found.get("objective_higher_is_better"),
    )
    rows = [row for row in found["data"] if objective in row and isinstance(row.get("tunable_parameters"), dict)]
    if not rows:
        raise InputError(f"{str(results_filename)!r}: no result has {objective!r}")

    def defines(of) -> str:
        return "".join(f"#define {name} {value}\n" for name, value in _chosen(of, objective, higher).items())

    text = "/* From measurements, by heddle.kernel_tuner.create_device_targets(): -DTARGET_NAME chooses a device. */\n#pragma once\n"
    text += "#ifndef kernel_tuner /* a tuner defines the parameters itself */\n"
    for i, device in enumerate(dict.fromkeys(row["device_name"] for row in rows)):
        text += f"{'#elif' if i else '#if'} defined(TARGET_{_identifier(device)})\n"
        text += defines([row for row in rows if row["device_name"] == device])
    text += "#else /* any other device */\n" + defines(rows) + "#endif\n#endif\n"
    with unwritable("header_filename", header_filename):
        Path(header_filename).write_text(text, encoding="utf-8")
