"""The program and Python make the same model of the same data, options and seed, bit for bit."""

import gzip
import subprocess

import numpy as np
import pytest
from conftest import PENDIGITS

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


@pytest.mark.parametrize(("estimator", "options"), CASES)
def test_same_as_the_programs(estimator, options, program, tmp_path):
    with gzip.open(PENDIGITS / "pendigits.tes.gz", "rt") as file:
        lines = file.read().split("\n")[:900]
    data = tmp_path / "rows.csv"
    data.write_text("\n".join(lines) + "\n")
    table = np.loadtxt(data, delimiter=",", dtype=np.float32)
    regress = estimator.__name__.endswith("Regressor")
    model = tmp_path / "program.heddle"
    command = [program, "train", data, "--device", "cpu", "--network", estimator._network, "--model", model, "--quiet"]
    if regress:
        command += ["--task", "regress"]
    subprocess.run([*command, *arguments(options)], check=True, capture_output=True)

    answers = table[:, -1] if regress else table[:, -1].astype(int)
    taught = estimator(device="cpu", **options).fit(table[:, :-1], answers)
    taught.save(tmp_path / "python.heddle")
    one, other = (heddle.Model.load(str(tmp_path / name)) for name in ("program.heddle", "python.heddle"))
    assert one.arrays().keys() == other.arrays().keys()
    for name, numbers in one.arrays().items():
        assert numbers.tobytes() == other.arrays()[name].tobytes(), name
    assert one.document() == other.document()
    assert one.classes == other.classes
    assert one.options == other.options
    assert (one.epochs, one.best_epoch) == (other.epochs, other.best_epoch)
    assert without_times(one.history()) == without_times(other.history())
