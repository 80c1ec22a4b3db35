"""Profile databases for tests: the schema of profiles/migrations.cpp, rows of committed evidence or drawn ones."""

import json
import random
import re
import sqlite3
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EVIDENCE = ROOT / "bench" / "results" / "nvidia-h200" / "profiles.json"
_PROVENANCE = ("driver", "compiler", "tool", "host", "clocks", "seed", "strategy")


def empty(file) -> sqlite3.Connection:
    """A database of the present schema, by the steps that the program itself takes."""
    source = (ROOT / "profiles" / "migrations.cpp").read_text()
    connection = sqlite3.connect(file)
    array = re.search(r"kMigrations\[\] = {\n(.*?)\n};", source, re.S)[1]
    # Each element is a raw string, or an empty one for a step that changes no table.
    steps = re.findall(r'^    (?:R"sql\((.*?)\)sql"|""),', array, re.S | re.M)
    for step in steps:
        connection.executescript(step)
    header = (ROOT / "profiles" / "migrations.hpp").read_text()
    application = int(re.search(r"kApplicationId = (\w+)", header)[1], 0)
    connection.execute(f"PRAGMA application_id = {application}")
    connection.execute(f"PRAGMA user_version = {len(steps)}")
    return connection


def add_evidence(connection, most=10**9, device=None, factor=1.0) -> list[dict]:
    records = json.loads(EVIDENCE.read_text())["profiles"][:most]
    for record in records:
        identity = device or record["device"]
        backend, name, architecture = identity.split("|")[:3]
        connection.execute("INSERT OR IGNORE INTO devices (identity, backend, name, architecture) VALUES (?, ?, ?, ?)",
                           (identity, backend, name, architecture))
        origin = [record["provenance"][field] for field in _PROVENANCE]
        connection.execute(f"INSERT OR IGNORE INTO provenances ({', '.join(_PROVENANCE)}) VALUES (?,?,?,?,?,?,?)", origin)
        of = connection.execute("SELECT id FROM devices WHERE identity = ?", (identity,)).fetchone()[0]
        where = " AND ".join(f"{field} = ?" for field in _PROVENANCE)
        by = connection.execute(f"SELECT id FROM provenances WHERE {where}", origin).fetchone()[0]
        connection.execute(
            "INSERT INTO profiles (device, family, problem, source_hash, configuration, time, spread, worst_error, samples,"
            " ties, imported, provenance, date, objective, cold_cache, run, record, contract_digest)"
            " VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,'time',0,0,'','')",
            (of, record["family"], record["problem"], record["source_hash"], record["configuration"], factor * record["time"],
             record["spread"], record["worst_error"], record["samples"], "\n".join(record["ties"]), 1, by,
             record["provenance"]["date"]))
    connection.commit()
    return records


def add_measurements(connection, records, count, seed=1) -> None:
    """Attempts around the profile of each record: the first of a problem is slower, the profile's own is the fastest but
    for every seventh problem; some fail."""
    draw = random.Random(seed)
    device = connection.execute("SELECT id FROM devices").fetchone()[0]
    by = connection.execute("SELECT id FROM provenances").fetchone()[0]
    each = count // len(records)
    rows = []
    for number, record in enumerate(records):
        for k in range(each):
            configuration, status = record["configuration"], "unverified"
            cost = record["time"]
            if k != 1:
                cost *= 1.5 + draw.random() if k else 1.4
                configuration = "scheme=default kernels=1 block_size=32" if k == 0 else f"scheme=graph kernels={draw.randint(1, 3)} block_size={32 * draw.randint(1, 32)}"
                if k % 11 == 3:
                    status = "compilation"
                if k == 2 and number % 7 == 0:
                    cost = 0.9 * record["time"]
            times = "[]" if status == "compilation" else json.dumps([cost, cost * 1.01, cost * 1.02])
            rows.append((device, record["family"], record["problem"], record["source_hash"], configuration, status, times,
                         record["samples"], 0, 0.8, 0.0, "", by, record["provenance"]["date"], 1, 1,
                         None if status == "compilation" else cost))
    connection.executemany(
        "INSERT INTO measurements (device, family, problem, source_hash, configuration, status, times, samples, cold_cache,"
        " compile_seconds, worst_error, message, provenance, date, run, visit, cost)"
        " VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", rows)
    connection.commit()
