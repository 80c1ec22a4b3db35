#!/usr/bin/env python3
"""Test accuracy with the default options, mean of several seeds, on four public sets.

    bench/runs/accuracy.py HEDDLE DATA DEVICE [--seeds 1,2,3] [--sets pendigits,letter,...] [--output FILE]

HEDDLE is the program, DATA a folder with the files named below (bench/data/ has pendigits; where the others come from
is said in bench/data/SOURCES.md). Prints a table; --output writes every run as JSON.
"""
import argparse
import gzip
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

# Training file, test file, label column, rules, epochs. Letter is one file: the first 16000 rows are for training.
SETS = {
    "pendigits": ("pendigits.tra.gz", "pendigits.tes.gz", "last", 300, 10),
    "letter": ("letter-recognition.data.gz", None, "first", 642, 10),
    "usps": ("zip.train.gz", "zip.test.gz", "first", 608, 10),
    "isolet": ("isolet1+2+3+4.csv.gz", "isolet5.csv.gz", "last", 500, 5),
}


def find(folder: pathlib.Path, name: str) -> pathlib.Path:
    found = sorted(folder.rglob(name))
    if not found:
        sys.exit(f"accuracy: no {name} below {folder}")
    return found[0]


def files(folder: pathlib.Path, scratch: pathlib.Path, train: str, test: str | None) -> tuple[pathlib.Path, pathlib.Path]:
    if test is not None:
        return find(folder, train), find(folder, test)
    rows = gzip.open(find(folder, train), "rt").read().splitlines(keepends=True)
    parts = scratch / "train.data", scratch / "test.data"
    parts[0].write_text("".join(rows[:16000]))
    parts[1].write_text("".join(rows[16000:]))
    return parts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("heddle")
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("device")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--output", type=pathlib.Path)
    options = parser.parse_args()

    runs = []
    print(f"{'data':10} {'rules':>5} {'epochs':>6} {'accuracy':>9}  {'us per sample':>13}  {'seeds':19}  "
          "on, with the last mapping", flush=True)
    for name in options.sets.split(","):
        train, test, label, rules, epochs = SETS[name]
        with tempfile.TemporaryDirectory() as scratch:
            paths = files(options.data, pathlib.Path(scratch), train, test)
            mine = []
            for seed in options.seeds.split(","):
                command = [options.heddle, "train", paths[0], "--test", paths[1], "--label", label, "--device",
                           options.device, "--max-rules", str(rules), "--epochs", str(epochs), "--seed", seed,
                           "--model", f"{scratch}/model.heddle", "--json"]
                done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
                if done.returncode != 0:
                    sys.exit(f"accuracy: {done.stderr.strip()}")
                mine.append({"set": name, "seed": int(seed), "report": json.loads(done.stdout)})
            runs += mine
        accuracy = [run["report"]["epochs"][-1]["test"]["accuracy"] for run in mine]
        times = [run["report"]["epochs"][-1]["microseconds_per_sample"] for run in mine]
        last = mine[-1]["report"]
        print(f"{name:10} {rules:5} {epochs:6} {100 * statistics.mean(accuracy):7.2f} %  {statistics.median(times):13.2f}  "
              f"{', '.join(f'{100 * a:.2f}' for a in accuracy)}  "
              f"{last['identity']['name']}, {last['epochs'][-1]['mappings'][-1]['configuration']}", flush=True)
    if options.output:
        options.output.write_text(json.dumps(runs, indent=1) + "\n")


if __name__ == "__main__":
    main()
