"""Tuning from Python, on this machine or shared out over the workers of a Dask cluster."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path

from heddle.errors import DeviceError, Error, InputError, ProfilesError, UsageError
from heddle.reports.sources import program

_ERRORS = {2: UsageError, 3: InputError, 4: DeviceError, 5: ProfilesError}


def _run(*arguments) -> str:
    """Standard output of the program `heddle`; its one line of error becomes the exception of its exit code."""
    found = program()
    if found is None:
        raise DeviceError("tuning needs the program heddle, which is not on the path (HEDDLE_PROGRAM)")
    done = subprocess.run([found, *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"heddle ended with {done.returncode}"]
        raise _ERRORS.get(done.returncode, Error)(lines[-1].removeprefix("heddle: "))
    return done.stdout


def _tune_one(options: list[str]) -> str:
    """Tunes one problem into a database of its own, on the machine that calls; returns the export."""
    with tempfile.TemporaryDirectory(prefix="heddle-tune-") as folder:
        database, export = Path(folder) / "profiles.sqlite", Path(folder) / "export.json"
        document = json.loads(_run("tune", *options, "--profiles", database, "--json"))
        if not any(result.get("profile") for result in document["results"]):
            raise DeviceError(f"no configuration could be verified: heddle tune {' '.join(options)}")
        _run("profiles", "export", export, "--profiles", database)
        return export.read_text(encoding="utf-8")


def _merge(export: str, database) -> list[dict]:
    handle, name = tempfile.mkstemp(prefix="heddle-export-", suffix=".json")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(export)
        return json.loads(_run("profiles", "import", name, "--profiles", database, "--json"))["records"]
    finally:
        os.unlink(name)


def tune(problems, *, family, budget=30.0, device=None, profiles=None, strategy=None, seed=1, client=None):
    """Finds the fastest mappings of a kernel family for some problems, and keeps them in a profile database.

    Parameters
    ----------
    problems : list of dict
        Sizes by name, ``[{"rules": 300, "dim": 16, "outputs": 10}]``.
    family : str
        ``"sonfin-train"``, as ``heddle tune --help`` lists them.
    budget : float
        Seconds for each problem.
    device : str, optional
        ``"cuda:0"``, ``"cpu"``; by default the best one of the machine that tunes.
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
        The records of the imports, as in the document of ``heddle profiles import --json``, in the order of `problems`.

    Raises
    ------
    UsageError, InputError, DeviceError, ProfilesError
        What the program says, one line. What was merged before stays.
    """
    from heddle.frames import default_database

    database = Path(default_database() if profiles is None else profiles)
    tasks = []
    for problem in problems:
        options = ["--family", family, "--budget", f"{max(1, round(1000 * budget))}ms", "--seed", str(int(seed))]
        for name, size in problem.items():
            options += ["--size", f"{name}={int(size)}"]
        if device is not None:
            options += ["--device", device]
        if strategy is not None:
            options += ["--strategy", strategy]
        tasks.append(options)
    if not tasks:
        raise UsageError("problems: found none, expected at least one")
    found: dict[int, list[dict]] = {}
    if client is None:
        for index, options in enumerate(tasks):
            found[index] = _merge(_tune_one(options), database)
    else:
        _shared_out(client, tasks, lambda index, export: found.__setitem__(index, _merge(export, database)))
    return [record for index in range(len(tasks)) for record in found[index]]


def _shared_out(client, tasks, merge) -> None:
    from distributed import as_completed
    from distributed.scheduler import KilledWorker

    # Measurements are no function of their arguments: none is taken from an earlier call.
    futures = [client.submit(_tune_one, options, pure=False) for options in tasks]
    number = {future.key: index for index, future in enumerate(futures)}
    try:
        for future in as_completed(futures):
            merge(number[future.key], future.result())
    except KilledWorker as error:
        raise DeviceError(f"every worker died that was given one of the problems: {error.task}") from None
    finally:
        client.cancel([future for future in futures if not future.done()])
