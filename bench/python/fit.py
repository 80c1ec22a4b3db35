"""What `fit` of the Python package takes beside the training of the program, by turns, on the letter data.

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
    """Wall time of the epochs alone: reading data, opening the device and writing the model are not counted."""
    model = folder / "model.heddle"
    command = [program, "train", file, "--device", "cpu", "--network", estimator._network, "--model", model, "--json", "--quiet"]
    for name, value in options.items():
        command += [f"--{name.replace('_', '-')}", ",".join(map(str, value)) if isinstance(value, tuple) else str(value)]
    begun = time.perf_counter()
    document = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    whole = time.perf_counter() - begun
    return sum(epoch["seconds"] for epoch in document["epochs"]), whole, heddle.Model.load(str(model))


def fit_seconds(estimator, options, rows, labels):
    """All of `fit`: checks of the data, classes, the device."""
    begun = time.perf_counter()
    model = estimator(device="cpu", **options).fit(rows, labels)
    return time.perf_counter() - begun, model.model_


def main():
    program, data, turns = sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 7
    rows, labels = letter(data)
    print(f"{TRAINING_ROWS} rows of letter, {turns} turns; medians of seconds. Load at the beginning: {os.getloadavg()[0]:.1f}\n")
    print("| network | epochs of the program | fit | fit / epochs | whole program |")
    print("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        file = folder / "rows.csv"
        file.write_text("".join(",".join(f"{v:.0f}" for v in row) + f",{label}\n" for row, label in zip(rows, labels)))
        for estimator, options in CASES:
            turns_of = []
            for turn in range(turns):
                order = [program_seconds, fit_seconds] if turn % 2 == 0 else [fit_seconds, program_seconds]
                for run in order:
                    if run is program_seconds:
                        epochs, whole, one = program_seconds(program, estimator, options, file, folder)
                    else:
                        fit, other = fit_seconds(estimator, options, rows, labels)
                for name, numbers in one.arrays().items():
                    assert numbers.tobytes() == other.arrays()[name].tobytes(), name
                turns_of.append((epochs, fit, whole))
            ratios = [fit / epochs for epochs, fit, _ in turns_of]
            epochs, fit, whole = (statistics.median(column) for column in zip(*turns_of))
            print(f"| {estimator._network} | {epochs:.3f} | {fit:.3f} | {statistics.median(ratios):.3f} ({min(ratios):.3f} to "
                  f"{max(ratios):.3f}) | {whole:.3f} |", flush=True)


if __name__ == "__main__":
    main()
