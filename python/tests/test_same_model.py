"""The program and Python make the same model of the same data, options and seed, bit for bit."""

import gzip
import json
import subprocess

import numpy as np
import pytest
from conftest import PENDIGITS
from sklearn.base import RegressorMixin

import heddle

CASES = [
    (heddle.SonfinClassifier, {"max_rules": 60, "epochs": 2, "random_state": 7}),
    (heddle.SonfinClassifier, {"max_rules": 40, "epochs": 2, "validation": 0.2, "patience": 1}),
    (heddle.TskClassifier, {"rules": 8, "epochs": 3}),
    (heddle.MlpClassifier, {"layers": (12, 7), "epochs": 3, "random_state": 3}),
    (heddle.SonfinRegressor, {"max_rules": 30, "epochs": 2}),
    (heddle.TskRegressor, {"rules": 4, "epochs": 3, "consequents": "linear", "ridge": 1e-6}),
    (heddle.MlpRegressor, {"layers": (9,), "epochs": 4, "rule": "rprop"}),
]


def arguments(options):
    """Parameters as the program's command line has them."""
    words = []
    for name, value in options.items():
        option = {"random_state": "seed"}.get(name, name).replace("_", "-")
        words += [f"--{option}", ",".join(map(str, value)) if isinstance(value, tuple) else str(value)]
    return words


def without_times(history):
    return [{name: value for name, value in epoch.items() if name != "microseconds_per_sample"} for epoch in history]


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Pen digits as a file of text, and as a table."""
    file = tmp_path_factory.mktemp("rows") / "rows.csv"
    with gzip.open(PENDIGITS / "pendigits.tes.gz", "rt") as stream:
        file.write_text("\n".join(stream.read().split("\n")[:900]) + "\n")
    return file, np.loadtxt(file, delimiter=",", dtype=np.float32)


def train(program, rows, estimator, options, model, *more):
    """By the program; returns inputs and answers for Python."""
    file, table = rows
    regress = issubclass(estimator, RegressorMixin)
    command = [program, "train", file, "--device", "cpu", "--network", estimator._network, "--model", model, "--quiet", *more]
    if regress:
        command += ["--task", "regress"]
    subprocess.run([*command, *arguments(options)], check=True, capture_output=True)
    return table[:, :-1], table[:, -1] if regress else table[:, -1].astype(int)


@pytest.mark.parametrize(("estimator", "options"), CASES)
def test_same_as_the_programs(estimator, options, program, rows, tmp_path):
    X, y = train(program, rows, estimator, options, tmp_path / "program.heddle")
    taught = estimator(device="cpu", **options).fit(X, y)
    taught.save(tmp_path / "python.heddle")
    one, other = (heddle.Model.load(str(tmp_path / name)) for name in ("program.heddle", "python.heddle"))
    assert one.arrays().keys() == other.arrays().keys()
    for name, numbers in one.arrays().items():
        assert numbers.tobytes() == other.arrays()[name].tobytes(), name
    assert one.input_scaling() == other.input_scaling()
    assert one.document() == other.document()
    assert one.classes == other.classes
    assert one.options == other.options
    assert (one.epochs, one.best_epoch) == (other.epochs, other.best_epoch)
    assert without_times(one.history()) == without_times(other.history())
    # The program's file is an estimator, too: it predicts the same, and goes on as the other does.
    loaded = estimator.load(tmp_path / "program.heddle", device="cpu")
    predicted = taught.predict(X)
    assert loaded.predict(X).tobytes() == predicted.tobytes()
    if hasattr(taught, "classes_"):
        assert loaded.classes_.dtype == taught.classes_.dtype and np.array_equal(loaded.classes_, taught.classes_)
        assert np.array_equal(loaded.predict_proba(X), taught.predict_proba(X))
    if hasattr(taught, "partial_fit"):
        loaded.partial_fit(X[:100], y[:100])
        taught.partial_fit(X[:100], y[:100])
        assert loaded.predict(X).tobytes() == taught.predict(X).tobytes()

def events(file):
    """A log without what differs between two runs: times, dates and names of files."""
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    for line in lines:
        for name in [name for name in line if name in ("date", "model", "seconds") or "microseconds" in name]:
            del line[name]
        for use in line.get("mappings", []):
            del use["microseconds_per_sample"]
        if line["event"] == "begin":
            line["data"] = {name: value for name, value in line["data"].items() if name not in ("train", "test")}
        if line.get("metrics"):
            del line["metrics"]["data"]
    return [line for line in lines if line["event"] != "notice"]


@pytest.mark.parametrize(("estimator", "options"), [CASES[0], CASES[3], CASES[5]])
def test_the_same_log(estimator, options, program, rows, tmp_path):
    X, y = train(program, rows, estimator, options, tmp_path / "m", "--log", tmp_path / "program.log", "--test", rows[0])
    estimator(device="cpu", log=tmp_path / "python.log", **options).fit(X, y, eval_set=(X, y))
    expected, found = events(tmp_path / "program.log"), events(tmp_path / "python.log")
    assert [line["event"] for line in found][:2] == ["begin", "model" if estimator is heddle.TskRegressor else "epoch"]
    assert found == expected


def test_load_refuses_other_models(program, rows, tmp_path):
    train(program, rows, heddle.TskClassifier, {"rules": 4, "epochs": 2}, tmp_path / "m")
    with pytest.raises(heddle.InputError, match="found a tsk to classify, expected a mlp to classify"):
        heddle.MlpClassifier.load(tmp_path / "m")
    with pytest.raises(heddle.InputError, match="expected a tsk to regress"):
        heddle.TskRegressor.load(tmp_path / "m")
