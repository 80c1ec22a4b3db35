#!/usr/bin/env python3
"""Perceptrons trained by heddle on public sets, several seeds; prints a table in Markdown.

    bench/mlp/mlp_runs.py SETS HEDDLE DATA DEVICE OUTPUT [SEEDS]

SETS: some of toman, pendigits, letter, adult, mnist, with commas. DATA: a folder with their files (bench/data/SOURCES.md).
OUTPUT: a file for the documents of all runs. Options are heddle's defaults but for those named here.
"""
import gzip
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

TOMAN = ["--layers", "25,15", "--hidden", "sigmoid", "--output", "sigmoid", "--rule", "adaptive", "--scale", "unit",
         "--initial-weights", "0.5", "--target-rms", "0.04", "--epochs", "600", "--report", "1"]
SEEDS = {"toman": range(1, 11)}


def find(folder, name):
    found = sorted(folder.rglob(name))
    if not found:
        sys.exit(f"mlp_runs: no {name} below {folder}")
    return str(found[0])


def lines_of(folder, name):
    with gzip.open(find(folder, name), "rt") as file:
        return file.read().splitlines(keepends=True)


def arguments(name, data, scratch):
    def written(file, lines):
        (scratch / file).write_text("".join(lines))
        return str(scratch / file)

    if name == "pendigits":
        return [find(data, "pendigits.tra.gz"), "--test", find(data, "pendigits.tes.gz")]
    if name == "letter":  # one file: the first 16000 rows are for training
        rows = lines_of(data, "letter-recognition.data.gz")
        return [written("train", rows[:16000]), "--test", written("test", rows[16000:]), "--label", "first"]
    if name == "adult":  # the test file has a line of its own at the top, and a full stop behind each class
        rows = [line for line in lines_of(data, "adult.data.gz") if line.strip()]
        test = [line.rstrip().rstrip(".") + "\n" for line in lines_of(data, "adult.test.gz")[1:] if line.strip()]
        return [written("train", rows), "--test", written("test", test), "--no-header", "--categories", "one-hot",
                "--missing", "category", "--validation", "0.1"]
    images, labels = ("t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz")
    test = [find(data, images), find(data, labels)]
    if name == "toman":
        return [test[0], "--label", "file:" + test[1], *TOMAN]
    return [find(data, "train-images-idx3-ubyte.gz"), "--label", "file:" + find(data, "train-labels-idx1-ubyte.gz"),
            "--test", test[0], "--test-label", "file:" + test[1], "--layers", "128", "--scale", "unit"]


def run(heddle, device, options, seed, scratch):
    command = [heddle, "train", *options, "--network", "mlp", "--device", device, "--seed", str(seed), "--json", "--quiet",
               "--model", str(scratch / "model.heddle")]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"mlp_runs: {done.stderr.strip()}")
    document = json.loads(done.stdout)
    document["epochs"] = [document["epochs"][0], *document["epochs"][-1:]] if "--report" in options else document["epochs"]
    return document


def score(document):
    """Test accuracy of the model that is kept: of the best epoch, or of the last."""
    kept = [each for each in document["epochs"] if each["epoch"] == document["best_epoch"]] or document["epochs"][-1:]
    return kept[0]["test"]["accuracy"]


def main():
    if len(sys.argv) not in (6, 7):
        sys.exit(__doc__)
    names, heddle, data, device, output = sys.argv[1].split(","), sys.argv[2], pathlib.Path(sys.argv[3]), *sys.argv[4:6]
    runs = []
    print("| set | seeds | " + ("epochs until E <= 0.04" if names == ["toman"] else "test accuracy, mean") + " | each |")
    print("|---|--:|--:|---|", flush=True)
    for name in names:
        seeds = [int(s) for s in sys.argv[6].split(",")] if len(sys.argv) == 7 else list(SEEDS.get(name, range(1, 4)))
        with tempfile.TemporaryDirectory() as folder:
            options = arguments(name, data, pathlib.Path(folder))
            mine = [run(heddle, device, options, seed, pathlib.Path(folder)) for seed in seeds]
        runs += [{"set": name, "seed": seed, "report": document} for seed, document in zip(seeds, mine)]
        if name == "toman":
            epochs = [document["epochs"][-1]["epoch"] for document in mine if document["ending"] == "target reached"]
            print(f"| {name} | {len(seeds)} | {min(epochs, default=0)} to {max(epochs, default=0)}, {len(epochs)} reached it | "
                  f"{', '.join(map(str, epochs))} |", flush=True)
        else:
            found = [100 * score(document) for document in mine]
            print(f"| {name} | {len(seeds)} | {statistics.mean(found):.2f} % | {', '.join(f'{a:.2f}' for a in found)} |",
                  flush=True)
    text = json.dumps(runs, indent=1)
    pathlib.Path(output).write_text(text.replace(str(data) + "/", "") + "\n")


if __name__ == "__main__":
    main()
