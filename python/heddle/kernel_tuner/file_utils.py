"""Results and their surroundings as files in the T4 format."""

from __future__ import annotations

import importlib.metadata
import json
import platform
import subprocess
from pathlib import Path

from heddle.kernel_tuner.util import CompilationFailedConfig, ErrorConfig, InvalidConfig, NpEncoder, unwritable

_VERSION = "1.0.0"  # of the format
_PARTS = {
    "compilation": "compile_time",
    "benchmark": "benchmark_time",
    "framework": "framework_time",
    "search_algorithm": "strategy_time",
    "validation": "verification_time",
}


def _write(argument: str, name, text: str) -> None:
    path = Path(name if str(name).endswith(".json") else f"{name}.json")
    with unwritable(argument, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _invalidity(result) -> str:
    error = result.get("__error__")
    if error is None:
        return "correct"
    if isinstance(error, CompilationFailedConfig):
        return "compile"
    return "constraints" if isinstance(error, InvalidConfig) else "runtime"


def get_t4_results(results, tune_params, objective="time") -> dict:
    """The results of `tune_kernel` as a T4 document."""
    if isinstance(objective, (list, tuple)):
        if len(objective) != 1:
            raise ValueError("objective: a T4 file has one")
        (objective,) = objective
    told = {*tune_params, *_PARTS.values(), "timestamp", "times"}
    rows = []
    for result in results:
        measurements = [
            {"name": name, "value": str(value) if isinstance(value, ErrorConfig) else value,
             "unit": "ms" if name.startswith("time") else ""}
            for name, value in result.items()
            if name not in told
        ]  # fmt: skip
        times = {part: result[name] for part, name in _PARTS.items()}
        row = {"timestamp": result["timestamp"]} if "timestamp" in result else {}
        rows.append(
            row
            | {
                "configuration": {name: result[name] for name in tune_params},
                "times": times | {"runtimes": result.get("times", [])},
                "invalidity": _invalidity(result),
                "correctness": 1,
                "measurements": measurements,
                "objectives": [objective],
            }
        )
    return {"results": rows, "schema_version": _VERSION, "metadata": {"timeunit": "milliseconds"}}


def store_output_file(output_filename, results, tune_params, objective="time") -> None:
    """Writes the results of `tune_kernel` as a T4 file; ``.json`` is added to its name if it is missing."""
    _write("output_filename", output_filename, json.dumps(get_t4_results(results, tune_params, objective), cls=NpEncoder))


def _answer(*words):
    """What a program of the system prints as JSON or text; None where it cannot be had."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return None
    try:
        return json.loads(done.stdout)
    except ValueError:
        return done.stdout


def get_t4_metadata() -> dict:
    """The machine and the installed packages as a T4 document."""
    hardware = _answer("lshw", "-json")
    cards = _answer("nvidia-smi", "--query-gpu=name,driver_version,memory.total,clocks.sm,clocks.mem", "--format=csv")
    packages = sorted(
        f"{each.metadata['Name']}=={each.version}"
        for each in importlib.metadata.distributions()
        if each.metadata["Name"] in ("heddle", "numpy", "cupy", "scikit-learn")
    )
    metadata = {
        "operating_system": platform.system(),
        "hardware": {"hardware_description": hardware if isinstance(hardware, list) else [hardware or platform.processor()]},
        "environment": {"device_query": {} if cards is None else {"nvidia-smi": cards}, "requirements": packages},
    }
    return {"metadata": metadata, "schema_version": _VERSION}


def store_metadata_file(metadata_filename) -> None:
    """Writes `get_t4_metadata` into a file."""
    _write("metadata_filename", metadata_filename, json.dumps(get_t4_metadata(), indent=2))
