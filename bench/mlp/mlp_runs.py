#!/usr/bin/env python3
"""Perceptrons trained by heddle on public sets, several seeds; prints a table in Markdown.

    bench/mlp/mlp_runs.py SETS HEDDLE DATA DEVICE OUTPUT [SEEDS]

SETS: some of pendigits, letter, adult, mnist, with commas. DATA: a folder with their files (bench/data/SOURCES.md).
DEVICE: one, or several with commas, whose accuracies are compared. OUTPUT: a file for the documents of all runs. Options
are heddle's defaults but for those named here.
"""
import gzip
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

SEEDS = range(1, 4)
MOST_APART = 0.5  # points of accuracy, of two devices


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
    return [find(data, "train-images-idx3-ubyte.gz"), "--label", "file:" + find(data, "train-labels-idx1-ubyte.gz"),
            "--test", test[0], "--test-label", "file:" + test[1], "--layers", "128", "--scale", "unit"]


def run(heddle, device, options, seed, scratch):
    command = [heddle, "train", *options, "--network", "mlp", "--device", device, "--seed", str(seed), "--json", "--quiet",
               "--model", str(scratch / "model.heddle")]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"mlp_runs: {done.stderr.strip()}")
    document = json.loads(done.stdout)
    return document


def score(document):
    """Test accuracy of the model that is kept: of the best epoch, or of the last."""
    kept = [each for each in document["epochs"] if each["epoch"] == document["best_epoch"]] or document["epochs"][-1:]
    return kept[0]["test"]["accuracy"]


def table(found):
    """`found`: accuracies in percent, by set and device. The first device is compared with the others."""
    devices = list(dict.fromkeys(device for each in found.values() for device in each))
    others = [f"within {MOST_APART} points of {device}" for device in devices[1:]]
    print("| " + " | ".join(["set", *(f"{device}: test accuracy, mean" for device in devices), *others, "seeds of each"]) + " |")
    print("|---|" + "--:|" * len(devices) + "---|" * (len(others) + 1))
    for name, each in found.items():
        means = {device: statistics.mean(accuracies) for device, accuracies in each.items()}
        apart = [abs(means[devices[0]] - means[device]) for device in devices[1:]]
        print("| " + " | ".join([name, *(f"{value:.2f} %" for value in means.values()),
                                 *(f"{value:.2f}: {'yes' if value <= MOST_APART else '**no**'}" for value in apart),
                                 "; ".join(", ".join(f"{a:.2f}" for a in accuracies) for accuracies in each.values())]) + " |")


def main():
    if len(sys.argv) not in (6, 7):
        sys.exit(__doc__)
    names, heddle, data, devices, output = sys.argv[1].split(","), sys.argv[2], pathlib.Path(sys.argv[3]), *sys.argv[4:6]
    seeds = [int(s) for s in sys.argv[6].split(",")] if len(sys.argv) == 7 else list(SEEDS)
    runs, found = [], {}
    for name in names:
        found[name] = {}
        with tempfile.TemporaryDirectory() as folder:
            options = arguments(name, data, pathlib.Path(folder))
            for device in dict.fromkeys(devices.split(",")):
                mine = [run(heddle, device, options, seed, pathlib.Path(folder)) for seed in seeds]
                runs += [{"set": name, "seed": seed, "report": document} for seed, document in zip(seeds, mine)]
                found[name][device] = [100 * score(document) for document in mine]
        text = json.dumps(runs, indent=1)
        pathlib.Path(output).write_text(text.replace(str(data) + "/", "") + "\n")
    table(found)


if __name__ == "__main__":
    main()
