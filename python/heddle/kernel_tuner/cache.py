"""Cache files, in Kernel Tuner's format: a JSON object whose last two brackets a run adds when it ends."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from heddle.errors import InputError
from heddle.kernel_tuner.util import ERRORS, ErrorConfig, NpEncoder, unwritable


def key_of(element) -> str:
    """``"32,4"``: how a cache file names a configuration."""
    return ",".join(str(value) for value in element)


class Cache:
    """What earlier runs measured, and the file that this one continues.

    Raises
    ------
    ValueError
        The file belongs to another device, kernel, problem or other parameters; in simulation there is none.
    InputError
        It cannot be read.
    """

    def __init__(self, file, kernel_name: str, problem_size, tune_params, objective, simulates: bool):
        self.entries: dict[str, dict] = {}
        self.device_name = None
        self._file = None
        if file is None:
            if simulates:
                raise ValueError("simulation_mode: expected a cache file, cache=FILE")
            return
        path = Path(str(file) if str(file).endswith(".json") else f"{file}.json")
        self._file = None if simulates else path
        self._expected = {
            "kernel_name": kernel_name,
            "problem_size": "callable" if callable(problem_size) else problem_size,
            "tune_params_keys": list(tune_params),
        }
        self._header = {**self._expected, "tune_params": tune_params, "objective": objective, "cache": {}}
        self._is_open = False
        if path.is_file():
            self._read(path)
        elif simulates:
            raise ValueError(f"simulation_mode: the cache file {str(path)!r} does not exist")

    def _read(self, path: Path) -> None:
        try:
            text = self._text = path.read_text(encoding="utf-8").strip()
            try:
                found = json.loads(text)
                self._is_open = False
            except ValueError:  # of a run that was cut off
                found = json.loads(text.rstrip(",") + "}\n}")
                self._is_open = True
            entries = found["cache"]
            named = {name: found.get(name) for name in self._expected}
            self.device_name = found["device_name"]
        except OSError as error:
            raise InputError(f"cache: {str(path)!r}: {error.strerror}") from None
        except (ValueError, KeyError, TypeError):
            raise InputError(f"cache: {str(path)!r} is no cache file of Kernel Tuner's") from None
        for name, expected in self._expected.items():
            if name == "problem_size" and (callable(expected) or named[name] is None or expected == "callable"):
                continue
            same = np.array_equal(np.ravel(np.array(named[name])), np.ravel(np.array(expected)))
            if not same:
                raise ValueError(f"cache: {str(path)!r} has results for {name} {named[name]}, expected {expected}")
        for key, entry in entries.items():
            entry = dict(entry)
            for value in list(entry.values()):
                if isinstance(value, str) and value in ERRORS:
                    entry["__error__"] = ERRORS[value]()
            self.entries[key] = entry

    def open(self, device_name: str) -> None:
        """Makes the file ready for more; writes its beginning if it is new."""
        if self._file is None:
            return
        if self.device_name is not None and self.device_name != device_name:
            raise ValueError(f"cache: {str(self._file)!r} has results for the device {self.device_name!r}, expected {device_name!r}")
        if self.device_name is None:
            text = json.dumps({"device_name": device_name, **self._header}, cls=NpEncoder, indent="")
            text = text[: text.rindex("{") + 1]
        elif self._is_open:
            text = self._text
            text += "," if not text.endswith((",", "{")) else ""
        else:
            text = self._text[: self._text.rindex("}", 0, self._text.rindex("}"))].rstrip()
            text += "," if not text.endswith("{") else ""
        self._write("w", text)

    def _write(self, mode: str, text: str) -> None:
        with unwritable("cache", self._file), open(self._file, mode, encoding="utf-8") as stream:
            stream.write(text)

    def add(self, element, result: dict) -> None:
        """Writes a result at once."""
        key = key_of(element)
        if key in self.entries:
            return
        self.entries[key] = result
        if self._file is None:
            return
        entry = {name: str(value) if isinstance(value, ErrorConfig) else value for name, value in result.items()}
        self._write("a", "\n" + json.dumps({key: entry}, cls=NpEncoder)[1:-1] + ",")

    def close(self) -> None:
        if self._file is None or not self._file.is_file():
            return
        text = self._file.read_text(encoding="utf-8")
        self._write("w", text.rstrip().rstrip(",") + "}\n}")
