"""Reads what a report is made of, and tells by its content what it is."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from heddle._heddle import Model
from heddle._arguments import path_text
from heddle.errors import Error, InputError

_MOST_BYTES = 2 << 30


@dataclass
class Source:
    kind: str  #: "database", "model", "log", "space", "regret", "tuning"
    name: str
    content: object
    folder: tempfile.TemporaryDirectory | None = None  #: where the content lies, and as long as this is there


def _bytes(file: Path) -> bytes:
    try:
        if not file.is_file():
            raise InputError(f"'{file}': found no file")
        with open(file, "rb") as stream:
            data = stream.read(_MOST_BYTES)
        if data[:2] == b"\x1f\x8b":
            with gzip.open(file, "rb") as stream:
                data = stream.read(_MOST_BYTES)
        return data
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"'{file}': {getattr(error, 'strerror', None) or error}") from None


def program() -> str | None:
    """The program `heddle`: HEDDLE_PROGRAM, or on the path."""
    return os.environ.get("HEDDLE_PROGRAM") or shutil.which("heddle")


@dataclass
class ModelFile:
    model: Model
    document: dict  #: members as `heddle inspect --json` has them

    @classmethod
    def read(cls, file: Path) -> ModelFile:
        model = Model.load(str(file))
        document = json.loads(model.document())
        return cls(model, {"network": model.kind, "size": model.size, "task": model.task, "epochs": model.epochs, **document})


def _log(file: Path, text: str) -> list[list[dict]]:
    """The runs of a log, each a list of events. A last line that is cut off belongs to a writer that is still at work."""
    runs: list[list[dict]] = []
    lines = text.split("\n")
    try:
        json.loads(lines[-1])
    except ValueError:
        lines.pop()
    for index, each in enumerate(lines, 1):
        if not each.strip():
            continue
        try:
            event = json.loads(each)
            kind = event["event"]
        except (ValueError, KeyError, TypeError):
            raise InputError(f"'{file}': line {index}: found no event, expected a line of a training log") from None
        if kind == "begin":
            if event.get("version") != 1:
                raise InputError(f"'{file}': line {index}: found version {event.get('version')}, expected 1")
            runs.append([])
        if not runs:
            raise InputError(f"'{file}': line {index}: found {kind!r}, expected the beginning of a training")
        runs[-1].append(event)
    if not runs:
        raise InputError(f"'{file}': found no whole line, expected a training log")
    return runs


def _imported(file: Path) -> Source:
    """An export of profiles, as the database that the program makes of it."""
    from heddle.tuning import import_profiles

    folder = tempfile.TemporaryDirectory(prefix="heddle-report-")
    database = Path(folder.name) / "profiles.sqlite"
    try:
        import_profiles(file, database)
    except Error as error:
        raise InputError(str(error)) from None
    return Source("database", file.name, database, folder)


def read(path) -> Source:
    """Reads one file. Raises InputError, one line, for what is none of the kinds, or damaged."""
    file = Path(path_text("sources", path))
    data = _bytes(file)
    name = file.name
    if data.startswith(b"SQLite format 3\0"):
        return Source("database", name, file)
    # A CBOR map in which a text of 12 bytes says so.
    if data[:1] and 0xA0 <= data[0] <= 0xBF and b"\x6cheddle model" in data:
        return Source("model", name, ModelFile.read(file))
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise InputError(f"'{file}': found bytes, expected a database, a model, a log or a recorded space") from None
    if re.search(r'"format"\s*:\s*"heddle training log"', text[: text.find("\n") if "\n" in text else len(text)]):
        return Source("log", name, _log(file, text))
    try:
        document = json.loads(text)
    except ValueError as error:
        # Kernel Tuner leaves a cache open while it tunes.
        try:
            document = json.loads(text.rstrip().rstrip(",") + "}}")
        except ValueError:
            raise InputError(f"'{file}': found no JSON: {error}") from None
    except RecursionError:
        raise InputError(f"'{file}': found JSON that is nested too deep") from None
    if isinstance(document, dict):
        if "results" in document and document.get("command") != "tune" or "cache" in document:
            return Source("space", name, document)
        if document.get("command") == "profiles regret":
            return Source("regret", name, document)
        if document.get("command") == "tune":
            return Source("tuning", name, document)
        if "profiles" in document:
            return _imported(file)
    raise InputError(f"'{file}': found another document, expected a database, a model, a log or a recorded space")
