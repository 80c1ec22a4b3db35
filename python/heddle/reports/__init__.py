"""Reports: what was tuned, searched and trained, as one page that opens without a network."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from heddle.errors import InputError
from heddle.reports.charts import Section
from heddle.reports.sources import Source, program, read

__all__ = ["main", "report"]


def _stale(source: Source) -> dict | None:
    """The state of each profile, which only the program's own kernels can tell; None without the program."""
    found = program()
    if found is None:
        return None
    done = subprocess.run([found, "profiles", "list", "--json", "--profiles", str(source.content)], capture_output=True,
                          text=True, check=False)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or ["heddle profiles list failed"]
        raise InputError(lines[-1].removeprefix("heddle: "))
    states = {}
    for record in json.loads(done.stdout)["records"]:
        if record.get("objective", "time") != "time" or record.get("cold_cache", False):
            continue  # beside the profile that programs use
        device, problem = record["device"], " ".join(f"{k}={v}" for k, v in record["problem"].items())
        states[device["backend"], device["name"], device["architecture"], record["family"], problem] = record["state"]
    return states


def _sections(sources: list[Source]) -> list[Section]:
    from heddle import frames
    from heddle.reports import search, training, tuned

    sections = []
    of = {kind: [each for each in sources if each.kind == kind] for kind in ("database", "log")}
    for compared in ((tuned.devices_compared(of["database"]) if of["database"] else None),
                     (training.runs_compared(of["log"]) if of["log"] else None)):
        if compared:
            sections.append(compared)
    for source in sources:
        try:
            if source.kind == "database":
                stale = _stale(source)
                if stale is not None:
                    rows = frames.usual(frames.profiles(source.content))
                    stale = {(r.identity, r.family, r.problem): stale.get(
                        (r.backend, r.device, r.architecture, r.family, r.problem), "unknown") for r in rows.itertuples()}
                sections += tuned.database_sections(source, stale)
            elif source.kind == "log":
                sections += training.log_sections(source)
            elif source.kind == "model":
                sections.append(training.model_section(source))
            elif source.kind == "space":
                sections.append(search.space_section(source))
            elif source.kind == "regret":
                sections.append(tuned.regret_section(source))
            else:
                sections.append(tuned.tuning_section(source))
        except (KeyError, TypeError, AttributeError, IndexError, ValueError, OverflowError) as error:
            if isinstance(error, InputError):
                raise
            what = f"no {error}" if isinstance(error, KeyError) else str(error).splitlines()[0]
            raise InputError(f"'{source.name}': found damage in a {source.kind}: {what}") from error
    return sections


def report(*sources, output="report.html", title: str | None = None) -> list[Path]:
    """Writes a page about profile databases, models, training logs and recorded spaces.

    Parameters
    ----------
    *sources : path
        Profile databases and exports of them, models, logs of ``heddle train --log``, recorded spaces (T4, T1), and ``--json`` documents of
        ``heddle tune`` and ``heddle profiles regret``; in any number and order, told apart by their content.
    output : path
        The page. It holds all that it needs, scripts included.
    title : str, optional
        Its heading.

    Returns
    -------
    list of pathlib.Path
        The page, and a table (CSV) for each chart of more than 5000 rows, beside it.

    Raises
    ------
    InputError
        One line: a file is missing, damaged, or nothing that a report is made of; or the page cannot be written.
    """
    from heddle.reports.page import page

    if not sources:
        raise InputError("found no file, expected databases, models, logs or recorded spaces")
    found = [read(each) for each in sources]
    sections = _sections(found)
    names = ", ".join(dict.fromkeys(each.name for each in found))
    if not any(section.charts for section in sections):
        raise InputError(f"{names}: found nothing to draw")
    try:
        return page(title or "heddle report", names, sections, Path(output))
    except OSError as error:
        raise InputError(f"cannot write '{error.filename or output}': {error.strerror}") from None


def main(arguments=None) -> int:
    """The command ``heddle-report``. Returns the exit code: 0, 2 for wrong usage, 3 for input that cannot be used."""
    parser = argparse.ArgumentParser(prog="heddle-report", description="One page about what was tuned and trained.")
    parser.add_argument("sources", nargs="+", metavar="FILE",
                        help="profile database or export, model, training log, recorded space, --json document of tune or regret")
    parser.add_argument("-o", "--output", default="report.html", help="the page [default: report.html]")
    parser.add_argument("--title", help="its heading")
    options = parser.parse_args(arguments)
    try:
        for file in report(*options.sources, output=options.output, title=options.title):
            print(file)
        return 0
    except InputError as error:
        line = "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(error))[:1000]
        print(f"heddle-report: {line}", file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        return 130
