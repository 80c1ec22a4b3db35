"""What `fit` of the Python package takes beside the training of the program, by turns, on the letter data.

Training is one call of the C++ trainer, the same in both. The program does not say how long that call took, only its epochs
(without what comes before the first: the clusters of a TSK system) and, from outside, the whole command, which also reads the
data and writes the model. So the call is timed inside `fit`, and the command as a whole. Both models must be the same.

usage: fit.py PROGRAM DATA [TURNS]
PROGRAM: build/release/cli/heddle. DATA: a folder with letter-recognition.data.gz (bench/data/SOURCES.md). The package heddle
is installed. Prints a table in Markdown.
"""

import gzip
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from unittest import mock

import numpy as np

import heddle

CASES = [
    (heddle.SonfinClassifier, {"max_rules": 300, "epochs": 5}),
    (heddle.TskClassifier, {"rules": 32, "epochs": 30}),
    (heddle.MlpClassifier, {"layers": (64,), "epochs": 30}),
]
TRAINING_ROWS = 16000  # the usual split


def letter(folder):
    """Inputs, and letters as words."""
    files = sorted(pathlib.Path(folder).rglob("letter-recognition.data.gz"))
    if not files:
        sys.exit(f"fit.py: no letter-recognition.data.gz below {folder}")
    with gzip.open(files[0], "rt") as stream:
        rows = [line.strip().split(",") for line in stream if line.strip()][:TRAINING_ROWS]
    return np.array([row[1:] for row in rows], dtype=np.float32), np.array([row[0] for row in rows])


def program_seconds(program, estimator, options, file, folder):
    """Of the whole command, and of its epochs alone; and the model."""
    model = folder / "model.heddle"
    command = [program, "train", file, "--device", "cpu", "--network", estimator._network, "--model", model, "--json", "--quiet"]
    for name, value in options.items():
        command += [f"--{name.replace('_', '-')}", ",".join(map(str, value)) if isinstance(value, tuple) else str(value)]
    begun = time.perf_counter()
    output = subprocess.run(command, check=True, capture_output=True).stdout
    whole = time.perf_counter() - begun
    return whole, sum(epoch["seconds"] for epoch in json.loads(output)["epochs"]), heddle.Model.load(str(model))


def fit_seconds(estimator, options, rows, labels):
    """All of `fit`: checks of the data, classes, training; training alone; and the model."""
    inside = []

    def timed(*arguments, train=heddle._heddle.train):
        begun = time.perf_counter()
        answer = train(*arguments)
        inside.append(time.perf_counter() - begun)
        return answer

    with mock.patch.object(heddle._heddle, "train", timed):
        begun = time.perf_counter()
        model = estimator(device="cpu", **options).fit(rows, labels)
        return time.perf_counter() - begun, inside[0], model.model_


def main():
    program, data, turns = sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 7
    rows, labels = letter(data)
    print(f"{TRAINING_ROWS} rows of letter, {turns} turns, seconds as medians; load at the beginning {os.getloadavg()[0]:.1f} on "
          f"{os.cpu_count()} cores\n")
    print("| network | the program's epochs | whole command | training inside `fit` | `fit` | `fit` / training | `fit` / command |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        file = folder / "rows.csv"
        file.write_text("".join(",".join(f"{v:.0f}" for v in row) + f",{label}\n" for row, label in zip(rows, labels)))
        for estimator, options in CASES:
            table = []
            for turn in range(turns):
                runs = [lambda: program_seconds(program, estimator, options, file, folder),
                        lambda: fit_seconds(estimator, options, rows, labels)]
                answers = [run() for run in (runs if turn % 2 == 0 else runs[::-1])]
                (command, epochs, one), (fit, training, other) = answers if turn % 2 == 0 else answers[::-1]
                for name, numbers in one.arrays().items():
                    assert numbers.tobytes() == other.arrays()[name].tobytes(), name
                table.append((epochs, command, training, fit, fit / training, fit / command))
            columns = list(zip(*table))
            middle = [f"{statistics.median(column):.3f}" for column in columns]
            spread = [f" ({min(column):.3f} to {max(column):.3f})" for column in columns[4:]]
            print(f"| {estimator._network} | {' | '.join(middle[:4])} | {middle[4]}{spread[0]} | {middle[5]}{spread[1]} |", flush=True)


if __name__ == "__main__":
    main()
