"""The profile database as pandas frames.

The database is opened read-only, by the tables that docs/formats.md describes ("Reading it with other programs is
fine"); no program is started, so that 100000 measurements take less than a second.
"""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path

import pandas as pd

from heddle._arguments import path_text
from heddle.errors import InputError

#: What SQLite's ``application_id`` is in a profile database, and the schemas that these queries fit.
_APPLICATION = 0x68656464
_SCHEMAS = range(6, 1000)

_DEVICE = "d.name AS device, d.backend, d.architecture, d.identity"
_PROVENANCE = "v.driver, v.compiler, v.tool, v.host, v.clocks, v.seed, v.strategy"


def default_database() -> Path:
    """The file that the program uses without ``--profiles``."""
    named = os.environ.get("HEDDLE_PROFILES")
    if named:
        return Path(named)
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(data) / "heddle" / "profiles.sqlite"


#: The first schema in which profiles have an objective.
_WITH_OBJECTIVES = 8


def _query(database, sql: str, before_objectives: str | None = None) -> pd.DataFrame:
    """What `sql` selects; in a database from before profiles had an objective, what `before_objectives` does."""
    file = Path(default_database() if database is None else path_text("database", database))
    if not file.is_file():
        raise InputError(f"'{file}': found no file, expected a profile database")
    connection = None
    try:
        connection = sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)
        if connection.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
            raise InputError(f"'{file}': found another program's database, expected one of heddle")
        schema = connection.execute("PRAGMA user_version").fetchone()[0]
        if schema not in _SCHEMAS:
            raise InputError(f"'{file}': found schema {schema}, expected 6 or later: any heddle command brings it there")
        return pd.read_sql_query(sql if schema >= _WITH_OBJECTIVES else before_objectives or sql, connection)
    except (sqlite3.Error, pd.errors.DatabaseError, UnicodeDecodeError) as error:
        why = str(error).splitlines()[-1] if str(error) else "damaged"
        raise InputError(f"'{file}': found a damaged profile database: {why}") from None
    finally:
        if connection is not None:
            connection.close()


def sizes(problem: str) -> dict[str, int]:
    """``"rules=300 dim=16"`` as ``{"rules": 300, "dim": 16}``."""
    try:
        return {name: int(value) for name, value in (part.split("=") for part in problem.split())}
    except ValueError:
        raise InputError(f"found the problem {problem!r}, expected NAME=NUMBER ...") from None


def parameters(configuration: str) -> dict[str, str]:
    """``"scheme=graph block_size=128"`` as ``{"scheme": "graph", "block_size": "128"}``."""
    return dict(part.split("=", 1) for part in configuration.split() if "=" in part)


def profiles(database=None) -> pd.DataFrame:
    """The winners: one row for each device, kernel family, problem, objective and state of the cache.

    Parameters
    ----------
    database : path, optional
        The profile database; by default the program's.

    Returns
    -------
    pandas.DataFrame
        ``microseconds`` and ``spread`` (half the interquartile range) are microseconds per unit of work of the family
        (per sample for networks); ``imported`` tells profiles of other machines; ``objective`` is what was made small
        (``"time"``, ``"energy"`` or the expression of ``--objective``), ``value`` its value, missing for the time, and
        ``cold_cache`` tells those of ``--l2 cold``: programs use profiles of the time with a warm cache, unless they ask for
        others; then the provenance.

    Raises
    ------
    InputError
        There is no such file, or it is no profile database, or damaged.
    """
    def select(goal: str) -> str:
        return (
            f"SELECT {_DEVICE}, r.family, r.problem, r.configuration, r.time AS microseconds, r.spread, r.worst_error,"
            f" r.samples, r.ties, r.imported, {goal}, r.date, r.source_hash, r.contract_digest, {_PROVENANCE}"
            " FROM profiles r JOIN devices d ON d.id = r.device JOIN provenances v ON v.id = r.provenance"
            " ORDER BY d.identity, r.family, r.problem, objective, cold_cache"
        )

    frame = _query(
        database, select("r.objective, r.value, r.cold_cache"), select("'time' AS objective, NULL AS value, 0 AS cold_cache")
    )
    frame["imported"] = frame["imported"].astype(bool)
    frame["cold_cache"] = frame["cold_cache"].astype(bool)
    frame["value"] = frame["value"].astype("float64")
    return frame


def of_families(database, wanted) -> pd.DataFrame:
    """The profiles of the families that `wanted` says yes to; empty where there is no database yet."""
    if not Path(database or default_database()).is_file():
        return pd.DataFrame(columns=["device", "family", "problem", "configuration", "microseconds"])
    kept = profiles(database or None)
    return kept[kept["family"].map(wanted).astype(bool)].reset_index(drop=True)


def measurements(database=None) -> pd.DataFrame:
    """Every attempt of every tuning run, in the order in which they were made.

    Parameters
    ----------
    database : path, optional
        The profile database; by default the program's.

    Returns
    -------
    pandas.DataFrame
        ``microseconds`` is the median of ``times`` (per unit of work), missing where the attempt failed; ``cost`` is what
        the search learnt from it. ``seconds`` is what the attempt took: compilation and all repetitions. ``cold_cache``:
        timed with a cache that was emptied before each launch (``--l2 cold``).

    Raises
    ------
    InputError
        There is no such file, or it is no profile database, or damaged.
    """
    frame = _query(
        database,
        f"SELECT r.id, {_DEVICE}, r.family, r.problem, r.configuration, r.status, r.times, r.cost, r.samples, r.cold_cache,"
        f" r.compile_seconds, r.worst_error, r.message, r.run, r.visit, r.date, {_PROVENANCE}"
        " FROM measurements r JOIN devices d ON d.id = r.device JOIN provenances v ON v.id = r.provenance ORDER BY r.id",
    )
    try:
        times = json.loads(f"[{','.join(frame['times'])}]")  # at once: five times as fast as row by row
        if len(times) != len(frame):
            raise ValueError
        medians = [sorted(each)[len(each) // 2] if each else None for each in times]
        sums = [float(sum(each)) for each in times]
    except (ValueError, TypeError):
        raise InputError(f"'{database or default_database()}': found times that are no numbers in a damaged database") from None
    frame["cold_cache"] = frame["cold_cache"].astype(bool)
    frame["microseconds"] = pd.Series(medians, dtype="float64")
    frame["seconds"] = frame["compile_seconds"] + 1e-6 * pd.Series(sums, dtype="float64") * frame["samples"]
    return frame


_TIMED = ("correct", "unverified")


def regret(database=None) -> pd.DataFrame:
    """What the chosen configurations gain and lose, from the measurements that the database holds.

    Parameters
    ----------
    database : path, optional
        The profile database; by default the program's.

    Returns
    -------
    pandas.DataFrame
        One row for each problem with a profile and measurements. ``chosen``, ``best`` and ``default`` are microseconds
        per unit of work: of the profile's configuration, of the fastest that was measured, and of the one that was
        measured first, the untuned default. ``loss`` is ``chosen / best - 1``, ``gain`` is ``default / chosen``.
        Measurements with a cold cache are left out, as their times are not to be compared with the others.
        ``heddle profiles regret`` measures the loss at sizes between these; a report takes its ``--json`` document.

    Raises
    ------
    InputError
        As ``profiles`` does.
    """
    return losses(profiles(database), measurements(database))


def usual(kept: pd.DataFrame) -> pd.DataFrame:
    """The rows of ``profiles`` that programs use: of the time, with a warm cache."""
    return kept[(kept["objective"] == "time") & ~kept["cold_cache"]]


def losses(kept: pd.DataFrame, tried: pd.DataFrame) -> pd.DataFrame:
    """``regret`` of frames that ``profiles`` and ``measurements`` have returned."""
    key = ["identity", "family", "problem"]
    kept = usual(kept)
    warm = tried[~tried["cold_cache"]]
    timed = warm.loc[warm["status"].isin(_TIMED) & warm["cost"].notna(), [*key, "configuration", "cost"]]
    best = timed.sort_values("cost", kind="stable").drop_duplicates(key)
    best = best.rename(columns={"cost": "best", "configuration": "best_configuration"})
    fastest = timed.groupby([*key, "configuration"], sort=False)["cost"].min()
    # A search begins with the untuned default (docs/design.md, "Measuring").
    first = timed.drop_duplicates(key)[[*key, "configuration"]]
    default = first.merge(fastest.rename("default"), on=[*key, "configuration"]).drop(columns="configuration")
    chosen = fastest.rename("chosen")
    table = kept.merge(best, on=key).merge(default, on=key).merge(chosen, on=[*key, "configuration"])
    table["loss"] = table["chosen"] / table["best"] - 1
    table["gain"] = table["default"] / table["chosen"]
    columns = ["device", *key, "configuration", "best_configuration", "chosen", "best", "default", "loss", "gain"]
    return table[columns]
