"""Reports: their numbers against the data, in a browser where there is one, and what damaged input is answered with."""

import csv
import gzip
import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import threading

import numpy as np
import pandas
import pytest

from heddle import Model, frames
from heddle.errors import InputError
from heddle.reports import main, report
from heddle.reports.network import surface_charts
from heddle.reports.search import importance
from heddle.reports.sources import program

from browser import PROGRAM, Page
from database import EVIDENCE, ROOT, add_evidence, add_measurements, empty

SPACE = ROOT / "tests" / "tuner" / "replay" / "data" / "cpu-sonfin-train.t4.json.gz"


@pytest.fixture
def tuned(tmp_path):
    """An H200's committed profiles with five measurements of each."""
    connection = empty(tmp_path / "tuned.db")
    records = add_evidence(connection)
    add_measurements(connection, records, 5 * len(records))
    connection.close()
    return tmp_path / "tuned.db", records


def _rule(words, constant):
    return {"sets": [{"input": f"x{j}", "word": w, "mean": m, "standard_deviation": 1.0} for j, (w, m) in enumerate(words)],
            "consequents": [{"output": "y", "constant": constant}]}


def _log(file, epochs=4):
    rules = [_rule([("low", 0.0), ("high", 4.0)], 1.0), _rule([("high", 4.0), ("low", 0.0)], 3.0)]
    events = [{"format": "heddle training log", "version": 1, "event": "begin", "date": "2026-11-25T11:00:00Z", "device": "cpu",
               "identity": {"name": "a processor"}, "network": "sonfin", "model": "m", "options": {"epochs": epochs},
               "data": {"train": "data.csv", "train_rows": 30, "dim": 2, "outputs": 2, "task": "classify"},
               "inputs": [{"name": "x0", "minimum": 0, "maximum": 4}, {"name": "x1", "minimum": 0, "maximum": 4}]},
              {"event": "model", "moment": "before", "epoch": 1, "rules": rules}]
    for epoch in range(1, epochs + 1):
        events.append({"event": "epoch", "epoch": epoch, "rules": 2, "samples": 30, "train_error": 0.5 / epoch, "validation": None,
                       "test": {"error": 0.6 / epoch, "accuracy": 1 - 0.3 / epoch}, "microseconds_per_sample": 2.0,
                       "mappings": [{"capacity": 32, "configuration": "scheme=rules threads=2", "tier": "exact", "samples": 30,
                                     "microseconds_per_sample": 2.0, "promised_microseconds_per_sample": None}]})
    metrics = {"data": "test.csv", "rows": 10, "accuracy": 0.9, "classes": [{"name": "a"}, {"name": "</script><b>"}],
               "confusion": [[5, 1], [0, 4]]}
    events += [{"event": "model", "moment": "after", "epoch": epochs, "rules": rules},
               {"event": "end", "ending": "completed", "microseconds_per_sample": 2.0, "metrics": metrics}]
    file.write_text("".join(json.dumps(each, separators=(",", ":")) + "\n" for each in events))
    return file


def test_frames_are_the_rows_of_the_database(tuned):
    file, records = tuned
    profiles = frames.profiles(file)
    kept = {(p, c): t for p, c, t in zip(profiles["problem"], profiles["configuration"], profiles["microseconds"])}
    assert kept == {(r["problem"], r["configuration"]): r["time"] for r in records}
    measured = frames.measurements(file)
    assert len(measured) == 5 * len(records)
    assert measured.loc[measured["status"] == "compilation", "microseconds"].isna().all()
    regret = frames.regret(file)
    better = [r["problem"] for k, r in enumerate(records) if k % 7 == 0]
    assert sorted(regret.loc[regret["loss"] > 0, "problem"]) == sorted(better)
    assert regret.loc[regret["loss"] > 0, "loss"].tolist() == pytest.approx([1 / 0.9 - 1] * len(better))
    assert regret["gain"].tolist() == pytest.approx([1.4] * len(records))


def test_times_with_a_cold_cache_are_not_compared_with_others(tuned, tmp_path):
    file = tmp_path / "cold.sqlite"
    shutil.copy(tuned[0], file)
    connection = sqlite3.connect(file)
    connection.execute("UPDATE measurements SET cold_cache = 1, cost = 0.001 * cost WHERE id % 10 = 0")
    connection.commit()
    connection.close()
    assert frames.measurements(file)["cold_cache"].sum() == 5 * len(tuned[1]) // 10
    assert frames.regret(file)["loss"].max() < 0.2


def test_profiles_of_another_objective_are_told_apart(tuned, tmp_path):
    file = tmp_path / "goals.sqlite"
    shutil.copy(tuned[0], file)
    usual = frames.profiles(file)
    assert (usual["objective"] == "time").all() and not usual["cold_cache"].any() and usual["value"].isna().all()
    connection = sqlite3.connect(file)
    columns = [c[1] for c in connection.execute("PRAGMA table_info(profiles)")]
    other = ", ".join({"objective": "'energy'", "value": "0.5", "time": "100 * time"}.get(c, c) for c in columns)
    connection.execute(f"INSERT INTO profiles ({', '.join(columns)}) SELECT {other} FROM profiles LIMIT 3")
    connection.commit()
    connection.close()
    kept = frames.profiles(file)
    assert len(kept) == len(usual) + 3 and (kept.loc[kept["objective"] == "energy", "value"] == 0.5).all()
    pandas.testing.assert_frame_equal(frames.usual(kept).reset_index(drop=True), usual)
    pandas.testing.assert_frame_equal(frames.regret(file), frames.regret(tuned[0]))


def test_a_database_from_before_objectives_is_read(tmp_path):
    golden = ROOT / "tests" / "profiles" / "golden" / "profiles-schema-7.sqlite"
    kept = frames.profiles(golden)
    assert len(kept) == 9 and (kept["objective"] == "time").all()


def test_importance_names_the_parameter_that_decides():
    configurations = [{"a": a, "b": b} for a in (1, 2, 3) for b in (1, 2)]
    rows = importance(configurations, [10.0**c["a"] for c in configurations])
    assert [(row[0], row[1]) for row in rows] == [("a", 3), ("b", 2)]
    assert rows[0][2] == pytest.approx(1.0) and rows[1][2] == pytest.approx(0.0)


def test_surface_is_the_weighted_mean_of_the_rules():
    rules = [_rule([("low", 0.0), ("low", 0.0)], 1.0), _rule([("high", 2.0), ("high", 2.0)], 3.0)]
    inputs = [{"name": name, "minimum": 0.0, "maximum": 2.0} for name in ("x0", "x1")]
    table = surface_charts({"rules": rules}, inputs)[0].table
    middle = min(table.rows, key=lambda row: abs(row[0] - 1) + abs(row[1] - 1))
    assert middle == pytest.approx([1.0, 1.0, 2.0])


@pytest.mark.skipif(PROGRAM is None, reason="no chromium")
@pytest.mark.parametrize("width", [1280, 400])
def test_page_draws_every_chart_and_shows_the_data(tuned, tmp_path, width):
    file, records = tuned
    log = _log(tmp_path / "run.log")
    page = tmp_path / "report.html"
    assert report(file, log, SPACE, output=page) == [page]
    assert page.stat().st_size <= 7 << 20
    seen = Page(page, width, tmp_path / "browser")
    assert seen.errors == [] and seen.requests == []
    assert seen.plots == seen.drawn == len(seen.tables) > 15
    assert seen.width <= width
    assert all(each["label"] and each["rows"] for each in seen.tables)
    grid = {row[0]: (float(row[2]), row[4]) for each in seen.tables if each["title"].startswith("Chosen") for row in each["rows"]}
    of = {r["problem"]: (r["time"], r["configuration"]) for r in records}
    assert grid == of  # every profile is in one of the charts
    errors = next(each for each in seen.tables if each["title"] == "Error by epoch")
    assert [[float(v) for v in row] for row in errors["rows"]] == [[e, 0.5 / e, 0.6 / e] for e in range(1, 5)]
    confusion = next(each for each in seen.tables if each["title"] == "Confusion matrix")
    assert confusion["rows"] == [["a", "5", "1"], ["</script><b>", "0", "4"]]
    with gzip.open(SPACE) as stream:
        results = json.load(stream)["results"]
    every = [each for each in seen.tables if each["title"] == "Every configuration"]
    assert [float(row[2]) for row in every[0]["rows"]] == [1e3 * r["measurements"][0]["value"] for r in results]  # µs


def test_many_measurements_are_aggregated_and_go_into_a_file(tmp_path):
    connection = empty(tmp_path / "one.db")
    add_measurements(connection, add_evidence(connection, most=1), 6000)
    connection.close()
    page, table = report(tmp_path / "one.db", output=tmp_path / "p.html")
    rows = list(csv.reader(table.open(encoding="utf-8")))
    assert len(rows) == 6001
    costs = frames.measurements(tmp_path / "one.db")["cost"]
    assert [row[2] for row in rows[1:]] == ["" if c != c else repr(c) for c in costs]
    assert "all 6000 are in p-1.csv" in page.read_text()


def _damaged_log(tmp_path):
    lines = _log(tmp_path / "whole.log").read_text().splitlines(keepends=True)
    (tmp_path / "d").write_text("".join([*lines[:2], "{half\n", *lines[2:]]))
    return "line 3"


def _truncated_database(tmp_path):
    connection = empty(tmp_path / "whole.db")
    add_evidence(connection)
    connection.close()
    (tmp_path / "d").write_bytes((tmp_path / "whole.db").read_bytes()[:20_000])
    return "damaged profile database"


def _bytes(content, word):
    def write(tmp_path):
        (tmp_path / "d").write_bytes(content)
        return word

    return write


@pytest.mark.parametrize("damage", [
    _damaged_log, _truncated_database, _bytes(b"", "found no JSON"), _bytes(b"\x1f\x8bxx", "'"), _bytes(b"\xff\xfe\x00", "bytes"),
    _bytes(b"[1, 2]", "another document"), _bytes(b'{"results": [{}]}', "damaged recorded space"),
    _bytes(b"[" * 200_000, "nested too deep"), _bytes(b'{"results": []}', "nothing to draw"),
    _bytes(b'{"format":"heddle training log","version":1', "no whole line"),
    _bytes(b'{"format":"heddle training log","version":9,"event":"begin"}\n', "version 9"),
    _bytes(b'{"format":"heddle training log","version":1,"event":"begin"}\n{"event":"epoch"}\n', "damage in a log"),
])
def test_damaged_input_is_one_line_and_code_3(tmp_path, capsys, damage):
    word = damage(tmp_path)
    assert main([str(tmp_path / "d"), "-o", str(tmp_path / "p.html")]) == 3
    error = capsys.readouterr().err
    assert re.fullmatch(r"heddle-report: [^\n]+\n", error) and word in error
    assert not (tmp_path / "p.html").exists()


def _whole_database(tmp_path):
    connection = empty(tmp_path / "d.db")
    add_measurements(connection, add_evidence(connection, most=12), 60)
    connection.commit()
    return tmp_path / "d.db", connection


@pytest.mark.parametrize("change", [  # the schema forbids other types
    "UPDATE measurements SET times = 'no list'", "UPDATE measurements SET times = '[1, 2], [3'",
    "UPDATE measurements SET times = '[null]'", "UPDATE profiles SET time = -1", "UPDATE profiles SET date = 'never'",
    "UPDATE profiles SET problem = 'rules' WHERE problem = (SELECT min(problem) FROM profiles)",
    "UPDATE profiles SET problem = 'rules=many' WHERE problem = (SELECT min(problem) FROM profiles)",
    "UPDATE profiles SET configuration = ''", "UPDATE devices SET identity = ''", "DROP TABLE measurements",
    "DROP TABLE provenances", "PRAGMA application_id = 7", "PRAGMA user_version = 1", "PRAGMA user_version = 5000"])
def test_rows_that_make_no_sense(tmp_path, capsys, monkeypatch, change):
    """A page or one line; what the file says is not believed."""
    monkeypatch.setenv("HEDDLE_PROGRAM", "")
    monkeypatch.setenv("PATH", "")
    file, connection = _whole_database(tmp_path)
    connection.execute(change)
    connection.commit()
    connection.close()
    _page_or_one_line(tmp_path, capsys, file)


def test_databases_with_wrong_bytes(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("HEDDLE_PROGRAM", "")
    monkeypatch.setenv("PATH", "")
    file, connection = _whole_database(tmp_path)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    whole = file.read_bytes()
    draw = random.Random(3)
    answers = []
    for _ in range(25):
        damaged = bytearray(whole)
        start = draw.randrange(16, len(whole) - 600)
        damaged[start:start + 600] = draw.randbytes(600)
        file.write_bytes(damaged)
        answers.append(_page_or_one_line(tmp_path, capsys, file))
    assert answers.count(3) >= 3


def _page_or_one_line(tmp_path, capsys, file):
    code = main([str(file), "-o", str(tmp_path / "p.html")])
    error = capsys.readouterr().err
    if code == 0:
        assert (tmp_path / "p.html").exists()
    else:
        assert code == 3 and re.fullmatch(r"heddle-report: [^\n]+\n", error)
    return code


def test_page_that_cannot_be_written_is_one_line(tmp_path):
    with pytest.raises(InputError, match="cannot write"):
        report(SPACE, output=tmp_path / "none" / "p.html")


def test_page_is_written_into_a_pipe_and_does_not_replace_it(tmp_path):
    pipe, page = tmp_path / "pipe.html", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: page.append(pipe.read_text(encoding="utf-8")))
    reader.start()
    report(SPACE, output=pipe)
    reader.join()
    assert page[0].startswith("<!DOCTYPE html>") and pipe.is_fifo()


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with models, logs and databases that the program wrote: z = x y, and rows of two classes."""
    if program() is None:
        pytest.skip("no program heddle")
    folder = tmp_path_factory.mktemp("trained")

    def heddle(*arguments):
        subprocess.run([program(), *map(str, arguments)], cwd=folder, capture_output=True, text=True, check=True)

    grid = [(x / 7 - 1, y / 7 - 1) for x in range(15) for y in range(15)]
    (folder / "data.csv").write_text("x,y,z\n" + "".join(f"{x:.4f},{y:.4f},{x * y:.5f}\n" for x, y in grid))
    (folder / "classes.csv").write_text("".join(f"{x:.4f},{y:.4f},{'above' if y > x else 'below'}\n" for x, y in grid))
    for network, more in (("tsk", ["--sets", "2"]), ("mlp", ["--layers", "8", "--hidden", "tanh"])):
        heddle("train", "data.csv", "--task", "regress", "--network", network, "--device", "cpu", "--epochs", "30", *more,
               "--log", "run.log", "--model", network)
    heddle("train", "classes.csv", "--test", "classes.csv", "--network", "sonfin", "--device", "cpu", "--epochs", "4",
           "--log", "sonfin.log", "--model", "sonfin")
    heddle("profiles", "import", EVIDENCE, "--profiles", "h200.db")
    connection = empty(folder / "others.db")
    add_evidence(connection, most=40, device="cuda|NVIDIA H100|9.0|132 units|80 GiB|52428800 cache|232448 local", factor=1.5)
    add_evidence(connection, most=20, device="cuda|NVIDIA A100|8.0|108 units|40 GiB|41943040 cache|166912 local", factor=2.5)
    connection.close()
    return folder


@pytest.mark.skipif(PROGRAM is None, reason="no chromium")
@pytest.mark.parametrize("width", [1280, 400])
def test_page_of_models_runs_and_devices(trained, tmp_path, width):
    names = ["h200.db", "others.db", "run.log", "sonfin.log", "tsk", "mlp", "sonfin"]
    (page,) = report(*(trained / name for name in names), output=tmp_path / "p.html")
    assert page.stat().st_size <= 7 << 20
    seen = Page(page, width, tmp_path / "browser")
    assert seen.errors == [] and seen.requests == []
    assert seen.plots == seen.drawn == len(seen.tables) > 25
    assert seen.width <= width
    assert all(each["label"] and each["rows"] for each in seen.tables)

    def numbers(rows):
        return [[float(cell) for cell in row] for row in rows]

    def titled(title):
        return [each["rows"] for each in seen.tables if each["title"] == title]

    # Three devices side by side: two of them have tuned only some of the sizes.
    time_of = {f"sonfin-train {r['problem']}": r["time"] for r in json.loads(EVIDENCE.read_text())["profiles"]}
    (compared,) = titled("Time of the same problems")
    assert len(compared) == 40 and sum(row[1] == "–" for row in compared) == 20
    for problem, a100, h100, h200 in compared:
        assert float(h200) == time_of[problem] and float(h100) == 1.5 * time_of[problem]
        assert a100 == "–" or float(a100) == 2.5 * time_of[problem]
    # Runs over one another, from three logs, and their epochs.
    logs = [json.loads(line) for name in ("run.log", "sonfin.log") for line in (trained / name).read_text().splitlines()]
    epochs = [event for event in logs if event["event"] == "epoch"]
    (errors,) = titled("Train error of all runs")
    assert [float(row[2]) for row in errors] == [event["train_error"] for event in epochs]
    confusion = [event for event in logs if event["event"] == "end"][-1]["metrics"]["confusion"]
    assert [[int(cell) for cell in row[1:]] for row in titled("Confusion matrix")[0]] == confusion
    # Sets before and after, in the log; those after are the model's.
    after = [event for event in logs if event["event"] == "model" and event["network"] == "tsk"][-1]
    kept = sorted({(s["mean"], s["standard_deviation"]) for rule in after["rules"] for s in rule["sets"] if s["input"] == "x"})
    tables = [rows for rows in titled("Membership functions of x")]
    assert len(tables) == 2 and {row[0] for row in tables[0]} == {"before", "after"} and {row[0] for row in tables[1]} == {"after"}
    for rows in tables:
        shown = [tuple(each) for each in numbers(row[2:] for row in rows if row[0] == "after")]
        assert shown == sorted(shown) and set(shown) <= set(kept)
        assert len(shown) == len({(round(mean, 9), round(deviation, 9)) for mean, deviation in kept})
    # Surfaces of models are what they predict.
    surfaces = titled("Surface of z")
    assert len(surfaces) == 3  # of the log, and of both models
    for name, rows in zip(("tsk", "mlp"), surfaces[1:]):
        at = np.array(numbers(row[:2] for row in rows), dtype=np.float32)
        assert len(at) == 961
        predicted = Model.load(str(trained / name)).predict(at, "cpu")[:, 0]
        assert [float(row[2]) for row in rows] == pytest.approx(predicted.tolist())
    assert numbers([row[1:] for row in titled("Layers")[0]]) == [[2], [8], [1]]


@pytest.mark.skipif(program() is None, reason="no program heddle")
def test_report_of_what_the_program_writes(tmp_path, monkeypatch):
    def heddle(*arguments):
        done = subprocess.run([program(), *map(str, arguments)], cwd=tmp_path, capture_output=True, text=True, check=True)
        return json.loads(done.stdout) if "--json" in arguments else done.stdout

    heddle("profiles", "import", EVIDENCE, "--profiles", "h200.db")
    records = json.loads(EVIDENCE.read_text())["profiles"]
    imported = frames.profiles(tmp_path / "h200.db")
    assert dict(zip(imported["problem"], imported["microseconds"])) == {r["problem"]: r["time"] for r in records}
    rows = "".join(f"{x / 7 - 1:.4f},{y / 7 - 1:.4f},{(x / 7 - 1) * (y / 7 - 1):.5f}\n" for x in range(15) for y in range(15))
    (tmp_path / "data.csv").write_text("x,y,z\n" + rows)
    heddle("train", "data.csv", "--task", "regress", "--network", "tsk", "--device", "cpu", "--epochs", "6", "--sets", "2",
           "--log", "run.log", "--model", "m")
    model = heddle("inspect", "m", "--json")
    (page,) = report(*(tmp_path / name for name in ("h200.db", "run.log", "m")), output=tmp_path / "p.html")
    text = page.read_text()
    assert all(rule["words"] in text for rule in model["rules"])
    assert text.count("Membership functions of x") >= 2  # of the log and of the model
    listed = heddle("profiles", "list", "--json", "--profiles", "h200.db")["records"]
    assert f"{sum(r['stale'] is not None for r in listed)} of {len(listed)} are stale" in text
    # An export is drawn as the database is.
    heddle("profiles", "export", "h200.json", "--profiles", "h200.db")
    (page,) = report(tmp_path / "h200.json", output=tmp_path / "e.html")
    assert f"{sum(r['stale'] is not None for r in listed)} of {len(listed)} are stale" in page.read_text()
    # So is a log that another program wrote again.
    again = [json.loads(line) for line in (tmp_path / "run.log").read_text().splitlines()]
    (tmp_path / "again").mkdir()
    (tmp_path / "again" / "run.log").write_text("\n".join(json.dumps(event) for event in again))
    (page,) = report(tmp_path / "again" / "run.log", output=tmp_path / "a.html")
    (plain,) = report(tmp_path / "run.log", output=tmp_path / "l.html")
    assert page.read_text() == plain.read_text()
    # An export that is none is the program's one line, as below.
    (tmp_path / "none.json").write_text('{"profiles": [1]}')
    with pytest.raises(InputError) as caught:
        report(tmp_path / "none.json", output=tmp_path / "q.html")
    assert "\n" not in str(caught.value)
    # A model that is cut off is the program's one line.
    (tmp_path / "cut").write_bytes((tmp_path / "m").read_bytes()[:-40])
    with pytest.raises(InputError):
        report(tmp_path / "cut", output=tmp_path / "q.html")
