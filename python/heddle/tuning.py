"""Tuning from Python, on this machine or shared out over the workers of a Dask cluster."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

from heddle._arguments import file_name, listed, seconds, sizes, text, whole
from heddle.errors import DeviceError, Error, InputError, ProfilesError, UsageError
from heddle.reports.sources import program

_ERRORS = {2: UsageError, 3: InputError, 4: DeviceError, 5: ProfilesError}


class Task(NamedTuple):
    """A problem for the program."""

    options: list[str]  #: of `heddle tune`
    recording: tuple[str, bytes] | None = None  #: name and content of a recorded space that takes the place of a device


_INTERRUPTED = 130  # the exit code of a command that Ctrl-C ended


def _run(*arguments) -> tuple[str, bool]:
    """Standard output of the program `heddle`, and whether Ctrl-C ended it; its one line of error becomes the exception of
    its exit code."""
    found = program()
    if found is None:
        raise DeviceError("tuning needs the program heddle, which is not on the path (HEDDLE_PROGRAM)")
    # In a session of its own: a terminal would send Ctrl-C to both, and a notebook sends it to Python alone.
    process = subprocess.Popen([found, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True)
    interrupted = False
    while True:
        try:
            output, remarks = process.communicate()
            break
        except KeyboardInterrupt:
            interrupted = True
            process.send_signal(signal.SIGINT)
        except BaseException:
            process.kill()
            raise
    if process.returncode not in ((0, _INTERRUPTED) if interrupted else (0,)):
        lines = remarks.strip().splitlines() or [f"heddle ended with {process.returncode}"]
        raise _ERRORS.get(process.returncode, Error)(lines[-1].removeprefix("heddle: "))
    return output, interrupted


def _tune_one(task: Task, database: Path) -> tuple[dict | None, bool]:
    """Tunes one problem into a database, on the machine that calls.

    Returns the profile, None if Ctrl-C ended the search before there was one, and whether Ctrl-C did.
    """
    with tempfile.TemporaryDirectory(prefix="heddle-space-") as folder:
        options = list(task.options)
        if task.recording is not None:
            name, content = task.recording
            space = Path(folder) / name  # which the program names the space after
            space.write_bytes(content)
            options += ["--replay", str(space)]
        output, interrupted = _run("tune", *options, "--profiles", database, "--json")
    profiles = [result["profile"] for result in json.loads(output)["results"] if result.get("profile")] if output else []
    if not profiles and not interrupted:
        raise DeviceError(f"no configuration could be verified: heddle tune {' '.join(options)}")
    return (profiles[0] if profiles else None), interrupted


def _tune_for_others(task: Task) -> tuple[dict | None, str]:
    """Tunes one problem into a database of its own; returns the profile and the export."""
    with tempfile.TemporaryDirectory(prefix="heddle-tune-") as folder:
        database, export = Path(folder) / "profiles.sqlite", Path(folder) / "export.json"
        profile, _ = _tune_one(task, database)
        _run("profiles", "export", export, "--profiles", database)
        return profile, export.read_text(encoding="utf-8")


def _merge(export: str, database: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="heddle-export-") as folder:
        file = Path(folder) / "export.json"
        file.write_text(export, encoding="utf-8")
        import_profiles(file, database)


def import_profiles(file: Path, database: Path) -> None:
    """Adds the profiles of an export to a database."""
    _, interrupted = _run("profiles", "import", file, "--profiles", database, "--json")
    if interrupted:
        raise KeyboardInterrupt


def tune(problems, *, family: str | None = None, budget: float = 30.0, device: str | None = None, profiles=None,
         strategy: str | None = None, seed: int = 1, client=None) -> list[dict]:
    """Finds the fastest mappings of a kernel family for some problems, and keeps them in a profile database.

    Parameters
    ----------
    problems : list of dict or path
        Sizes by name, ``[{"rules": 300, "dim": 16, "outputs": 10}]``. The path of a recorded space (T4 or T1) takes the place
        of a device and its kernels: it is searched in virtual time.
    family : str
        ``"sonfin-train"``, as ``heddle tune --help`` lists them. Not for recorded spaces.
    budget : float
        Seconds for each problem.
    device : str, optional
        ``"cuda:0"``, ``"cpu"``; by default the best one of the machine that tunes. Not for recorded spaces.
    profiles : path, optional
        The database that what was found is merged into; by default the program's.
    strategy : str, optional
        As ``heddle tune --strategy``.
    seed : int
        Of the search and the workload.
    client : dask.distributed.Client, optional
        Shares the problems out over the workers of its cluster. Each tunes on its own device, into a database of its own;
        what it found comes back as an export and is imported here as soon as it is there. The problem of a worker that
        dies is given to another. Workers need this package and the program ``heddle``. Two workers on one device disturb
        each other's measurements: start one for each device, with one thread.

    Returns
    -------
    list of dict
        The profiles, as in the document of ``heddle tune --json``, in the order of `problems`.

    Raises
    ------
    UsageError, InputError, DeviceError, ProfilesError
        What the program says, one line. What was merged before stays.
    KeyboardInterrupt
        Ctrl-C; profiles and measurements so far are kept, and the same call goes on from them. With a `client`, the
        profiles of the problems that were done are kept.
    """
    from heddle.frames import default_database

    database = Path(file_name("profiles", profiles) or default_database())
    if client is not None and not (hasattr(client, "submit") and hasattr(client, "cancel")):
        raise UsageError(f"client: found {type(client).__name__}, expected a dask.distributed.Client")
    tasks = [_task(problem, family, budget, device, strategy, seed) for problem in listed("problems", problems)]
    if not tasks:
        raise UsageError("problems: found none, expected at least one")
    if client is not None:
        return _shared_out(client, tasks, database)
    return [_tune_here(task, database) for task in tasks]


def tune_formula(formula, encoding, sizes, *, budget, device, profiles, strategy, seed) -> dict:
    """The profile of a formula over arrays of fuzzy numbers, which the database then has."""
    from heddle.frames import default_database

    options = [*_search(budget, strategy, seed), "--formula", formula, "--encoding", encoding, "--device", device]
    for name, size in sizes.items():
        options += ["--size", f"{name}={size}"]
    return _tune_here(Task(options), Path(file_name("profiles", profiles) or default_database()))


def _tune_here(task: Task, database: Path) -> dict:
    profile, interrupted = _tune_one(task, database)
    if interrupted:
        raise KeyboardInterrupt
    return profile


def _search(budget, strategy, seed) -> list[str]:
    """Options that say how to search."""
    options = ["--budget", f"{max(1, round(1000 * seconds('budget', budget)))}ms", "--seed", str(whole("seed", seed, 0))]
    return options if strategy is None else [*options, "--strategy", text("strategy", strategy)]


def _task(problem, family, budget, device, strategy, seed) -> Task:
    options = _search(budget, strategy, seed)
    recorded = isinstance(problem, (str, os.PathLike))
    for name, value in (("family", family), ("device", device)):
        if recorded and value is not None:
            raise UsageError(f"{name}: found {value!r} with a recorded space, which takes the place of a device and its kernels")
        if value is not None:
            options += [f"--{name}", text(name, value)]
    if recorded:
        problem = file_name("problems", problem)
        try:
            return Task(options, (Path(problem).name, Path(problem).read_bytes()))
        except OSError as error:
            raise InputError(f"'{problem}': {error.strerror}") from None
    if family is None:
        raise UsageError("family: found none, expected a kernel family, as heddle tune --help lists them")
    for name, size in sizes("problems", problem).items():
        options += ["--size", f"{name}={size}"]
    return Task(options)


def _shared_out(client, tasks: list[Task], database: Path) -> list[dict]:
    from distributed import as_completed
    from distributed.scheduler import KilledWorker

    # Measurements are no function of their arguments: none is taken from an earlier call.
    futures = [client.submit(_tune_for_others, task, pure=False) for task in tasks]
    found = {}
    try:
        for future in as_completed(futures):
            found[future.key], export = future.result()
            _merge(export, database)
    except KilledWorker as error:
        raise DeviceError(f"every worker died that was given one of the problems: {error.task}") from None
    finally:
        client.cancel([future for future in futures if not future.done()])
    return [found[future.key] for future in futures]
