"""What `fit` of the Python package takes beside the training of the program, by turns, on rows of the letter data's shape.

usage: fit.py PROGRAM [TURNS]     PROGRAM: build/release/cli/heddle; the package heddle is installed
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import heddle

ROWS, INPUTS, CLASSES = 16000, 16, 26
OPTIONS = {"max_rules": 300, "epochs": 3}


def program_seconds(program, file, folder):
    """Of the epochs alone: data and model files are not counted."""
    command = [program, "train", file, "--device", "cpu", "--model", f"{folder}/model.heddle", "--json", "--quiet"]
    for name, value in OPTIONS.items():
        command += [f"--{name.replace('_', '-')}", str(value)]
    document = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return sum(epoch["seconds"] for epoch in document["epochs"])


def fit_seconds(rows, labels):
    """All of `fit`, checks of the data included."""
    begun = time.perf_counter()
    heddle.SonfinClassifier(device="cpu", **OPTIONS).fit(rows, labels)
    return time.perf_counter() - begun


def main():
    program, turns = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 7
    random = np.random.default_rng(1)
    labels = random.integers(CLASSES, size=ROWS)
    centres = random.integers(0, 16, size=(CLASSES, INPUTS))
    rows = np.clip(np.round(centres[labels] + random.normal(scale=2, size=(ROWS, INPUTS))), 0, 15).astype(np.float32)
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/rows.csv"
        np.savetxt(file, np.column_stack([rows, labels]), fmt="%d", delimiter=",")
        pairs = [(program_seconds(program, file, folder), fit_seconds(rows, labels)) for _ in range(turns)]
    ratios = [fit / trained for trained, fit in pairs]
    print(f"program {statistics.median(p for p, _ in pairs):.3f} s, fit {statistics.median(f for _, f in pairs):.3f} s, "
          f"ratio {statistics.median(ratios):.3f} (median of {turns} turns, {min(ratios):.3f} to {max(ratios):.3f})")


if __name__ == "__main__":
    main()
