#!/usr/bin/env python3
"""Toman's run: 784-25-15-10 on MNIST's 10000 test digits with the published options, tuned first, then 10 seeds.

    bench/mlp/mlp_toman.py HEDDLE DATA DEVICE OUTPUT [--budget 20s] [--seeds 10] [--reference FILE] [--rows N]
    bench/mlp/mlp_toman.py --table OUTPUT [--reference FILE]

Prints for each seed the epochs until E <= 0.04, microseconds an epoch and milliseconds in all, and the bars; then the same
options on the 60000 training digits, with the accuracy on the 10000. Time in all is what `heddle train --json` calls
`seconds`: rows and weights are on the device when it begins, and errors and trained weights are back on the host when it ends. It
is told once, at the end, so that a launch does as many epochs as it may; the kernels end at the epoch that reaches E.
OUTPUT (JSON) keeps the documents of all runs. --reference: what bench/reference_epochs printed. --rows: only so many rows of each set.
"""
import argparse
import json
import pathlib
import statistics
import sys
import tempfile

from mlp_heddle import bar, markdown, run, tune_problem, tuned
from mlp_runs import find

SIZES = [784, 25, 15, 10]
NETWORK = ["--layers", "25,15", "--hidden", "sigmoid", "--output", "sigmoid", "--scale", "unit", "--initial-weights", "0.5",
           "--target-rms", "0.04"]
RULE = ["--rule", "adaptive", "--epochs", "600", "--report", "600"]
PUBLISHED_EPOCHS = 265
SEEDS_OF_60000 = 3


def digits(data, part):
    return [find(data, f"{part}-images-idx3-ubyte.gz"), "--label", "file:" + find(data, f"{part}-labels-idx1-ubyte.gz")]


def train(heddle, device, rows, options, seed, scratch):
    limit = ["--rows", rows] if rows else []
    return json.loads(run([heddle, "train", *options, *limit, "--network", "mlp", "--device", device, "--seed", seed, "--json", "--quiet",
                           "--model", scratch / "model.heddle"]))


def problem(heddle, device, rows, files, scratch):
    """What is to be tuned: pixels that are 0 in all rows take no part."""
    document = train(heddle, device, rows, [*files, *NETWORK, *RULE[:2], "--epochs", 1], 1, scratch)
    return document["epochs"][-1]["mappings"][-1]["problem"]


def trained(heddle, device, rows, files, seed, scratch):
    document = train(heddle, device, rows, [*files, *NETWORK, *RULE], seed, scratch)
    last = document["epochs"][-1]
    used = last["mappings"][-1]
    return {"seed": seed, "rows": document["data"]["train_rows"], "epochs": last["epoch"], "reached": document["ending"] == "target reached",
            "error": (last["train_error"] / (2 * SIZES[-1])) ** 0.5,
            "microseconds_per_epoch": document["microseconds_per_sample"] * document["data"]["train_rows"],
            "milliseconds": 1e3 * sum(each["seconds"] for each in document["epochs"]),
            "accuracy": last["test"] and 100 * last["test"]["accuracy"],
            "configuration": used["configuration"], "tier": used["tier"], "document": document}


def curve(heddle, device, rows, files, scratch):
    """E of every epoch of the first seed: a training of its own, whose launches have an epoch each."""
    document = train(heddle, device, rows, [*files, *NETWORK, *RULE[:-1], 1], 1, scratch)
    return [(each["train_error"] / (2 * SIZES[-1])) ** 0.5 for each in document["epochs"]]


def table(found, reference):
    ours = found["10000"]
    names = ["seed", "epochs", "us an epoch", "ms in all", "E", "mapping"]
    print(f"784-25-15-10 on {ours[0]['rows']} digits, published options, start +-0.5, {found['device']}\n")
    markdown(names, [[each["seed"], each["epochs"] if each["reached"] else f"{each['epochs']}, not reached",
                      each["microseconds_per_epoch"], each["milliseconds"], f"{each['error']:.5f}", each["configuration"]]
                     for each in ours])
    epochs = [each["epochs"] for each in ours if each["reached"]]
    average = statistics.mean(epochs) if epochs else None
    print(f"\n- epochs until E <= 0.04: {min(epochs, default=0)} to {max(epochs, default=0)}, {len(epochs)} of {len(ours)} seeds: "
          + ("reached" if len(epochs) == len(ours) and min(epochs) >= 200 and max(epochs) <= 350 else "**not reached**")
          + " (bar: all in 200 to 350)")
    if epochs:
        print(f"- mean {average:.1f}; published {PUBLISHED_EPOCHS}: {100 * (average / PUBLISHED_EPOCHS - 1):+.1f} %")
    if epochs and reference:
        exact = statistics.mean(each["epochs"] for each in reference["runs"])
        apart = 100 * (average / exact - 1)
        print(f"- float64 reference, seeds 1 to {len(reference['runs'])}, same starts: mean {exact:.1f}; ours {apart:+.1f} %, bar "
              f"5 %: {'reached' if abs(apart) <= 5 else '**not reached**'}")
    bar("an epoch, median", statistics.median(each["microseconds_per_epoch"] for each in ours), 20, "us")
    bar("in all after the upload, slowest seed", max(each["milliseconds"] for each in ours), 10, "ms")
    more = found.get("60000")
    if not more:
        return
    print(f"\nThe same options on {more[0]['rows']} training digits, tested on the 10000\n")
    markdown(["seed", "epochs", "us an epoch", "ms in all", "test accuracy, %", "mapping"],
             [[each["seed"], f"{each['epochs']}{'' if each['reached'] else ', E > 0.04'}", each["microseconds_per_epoch"],
               each["milliseconds"], each["accuracy"], each["configuration"]] for each in more])
    print()
    bar("an epoch of 60000 rows, median", statistics.median(each["microseconds_per_epoch"] for each in more), 100, "us")


def inputs_of(run):
    """Pixels that took part: those that are not 0 in all rows."""
    problem = run["document"]["epochs"][-1]["mappings"][-1]["problem"]
    return next(int(word.partition("=")[2]) for word in problem.split() if word.startswith("inputs="))


def readme(folder):
    """Lines of README.md, of the file in `folder`."""
    found = json.loads((folder / "mlp_toman.json").read_text())
    ours, more = found["10000"], found.get("60000")
    epochs = [each["epochs"] for each in ours if each["reached"]]
    if not epochs:
        return [f"No training of Toman's network reached his error on one {found['device']}."]
    seeds = f"{len(ours)} seeds" if len(epochs) == len(ours) else f"{len(epochs)} of {len(ours)} seeds; the others did not reach it"
    said = (f"A whole training of Toman's network on the {ours[0]['rows']} digits, until his error is at most 0.04, takes "
            f"{min(epochs)} to {max(epochs)} epochs ({seeds}) and at most {max(each['milliseconds'] for each in ours):.2f} ms "
            f"on one {found['device']}")
    if more:
        time = statistics.median(each["microseconds_per_epoch"] for each in more)
        said += f"; an epoch of all {more[0]['rows']}, of which {inputs_of(more[0])} pixels vary, {time:.1f} us"
    return [f"{said} ([mlp_toman.md](bench/results/{folder.name}/mlp_toman.md), part `toman`)."]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", metavar="HEDDLE DATA DEVICE OUTPUT")
    parser.add_argument("--budget", default="20s")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--rows", type=int, default=0)
    parser.add_argument("--reference")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    known = options.reference and pathlib.Path(options.reference).exists()
    reference = json.loads(pathlib.Path(options.reference).read_text()) if known else None
    if options.table:
        return table(json.loads(pathlib.Path(options.paths[0]).read_text()), reference)
    if len(options.paths) != 4:
        parser.error("expected HEDDLE DATA DEVICE OUTPUT")
    heddle, data, device, output = options.paths
    data = pathlib.Path(data)
    found = {"device": device}
    sets = {"10000": (digits(data, "t10k"), range(1, options.seeds + 1))}
    if any(data.rglob("train-images-idx3-ubyte.gz")):
        test = digits(data, "t10k")
        sets["60000"] = ([*digits(data, "train"), "--test", test[0], "--test-label", test[2]],
                         range(1, min(options.seeds, SEEDS_OF_60000) + 1))
    with tempfile.TemporaryDirectory() as folder:
        for name, (files, seeds) in sets.items():
            rows = options.rows or int(name)
            asked = problem(heddle, device, options.rows, files, pathlib.Path(folder))
            document = tune_problem(heddle, device, asked, "--budget", options.budget)
            found[name] = []
            if tuned(document, rows) is None:
                print(f"mlp_toman: {name} rows: nothing was verified in {options.budget}", file=sys.stderr)
            for seed in seeds:
                found[name].append(trained(heddle, device, options.rows, files, seed, pathlib.Path(folder)))
            found["device"] = document["identity"]["name"]
            if name == "10000":
                found["curve"] = curve(heddle, device, options.rows, files, pathlib.Path(folder))
            text = json.dumps(found, indent=1)
            for place in (data, folder):
                text = text.replace(f"{place}/", "")
            pathlib.Path(output).write_text(text + "\n")
    return table(found, reference)


if __name__ == "__main__":
    main()
