#!/usr/bin/env python3
"""The networks of both publications in one table: heddle, the published mappings and PyTorch, per epoch and to the same error.

    bench/mlp/mlp_published.py HEDDLE EXPLORE DEVICE DATA OUTPUT [--budget 20] [--limit 470] [--commit HASH] [--tiny]
    bench/mlp/mlp_published.py --table OUTPUT
    bench/mlp/mlp_published.py HEDDLE EXPLORE DEVICE DATA OUTPUT --widths [--budget 5]

For each network `heddle tune` searches for --budget seconds, twice as long where layers are large, and times what it chooses, the untuned default and every named
configuration that the network has. `t08` is online learning, its time that of single rows; `sequential` runs on the CPU.
bench/mlp/mlp_pytorch.py gets what is left of --limit seconds, if Python has torch; it writes beside OUTPUT (JSON), as
OUTPUT's name with _pytorch. A run that finds these files, of the same commit, goes on with what they lack. --widths: 14-h-1 on 32561 rows with h
from 8 to 1024 instead, chosen and t08. --tiny: small sizes, to see whether it works.

To the same error: for both published networks, epochs are counted in one training from one start; all ways of the same rule need
the same number but for rounding, and differ by the time of an epoch. Online learning is another rule: it is trained by itself.
"""
import argparse
import datetime
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import time

from mlp_heddle import bar, end_when_asked, explored, markdown, name_of, number, pytorch_times, run, tune, tuned
from mlp_runs import lines_of
from mlp_toman import NETWORK, RULE, digits

#: Sizes, rows, rows of a step, rule; then the bar in microseconds, and of what. Most important first. The hidden sizes of 14-10-1,
#: 108-10-1, 2-4-1 and 4-8-3 are published nowhere. The bar of 60000 rows is that of whole trainings (mlp_toman.py), where the start of a
#: run counts for less than in the 17 epochs that are timed here.
NETWORKS = [([784, 25, 15, 10], 10000, 10000, "adaptive", 20, "epoch"), ([14, 10, 1], 32561, 32561, "plain", 5, "epoch"),
            ([108, 10, 1], 32561, 32561, "plain", 12, "epoch"), ([784, 128, 10], 65536, 64, "adam", 8, "step"),
            ([14, 10, 1], 32561, 1, "plain", 1, "step"), ([2, 4, 1], 4, 4, "plain", 2, "epoch"),
            ([4, 8, 3], 105, 105, "plain", 2, "epoch"), ([784, 25, 15, 10], 60000, 60000, "adaptive", None, None),
            ([14, 10, 1], 10, 10, "plain", None, None), ([14, 10, 1], 100, 100, "plain", None, None),
            ([14, 10, 1], 1000, 1000, "plain", None, None), ([14, 10, 1], 10000, 10000, "plain", None, None)]
TINY = [([14, 10, 1], 320, 320, "plain", 5, "epoch"), ([14, 10, 1], 320, 1, "plain", 1, "step"), ([20, 9, 5, 3], 200, 200, "adaptive", 20, "epoch")]
BOTH = {"toman": "784-25-15-10x10000", "gurgel": "14-10-1x32561"}  # the published networks
WIDTHS = [8, 16, 32, 64, 128, 256, 512, 1024]
#: As named on CUDA and on the CPU; a test compares them with what heddle names so.
T08 = "scheme=layered product=library"
SEQUENTIAL = "scheme=tiles coarsen_rows=1 coarsen_vectors=1 tile_rows=16 block_size=4 threads=1"
WAYS = ["eager", "captured", "compiled", "compiled-captured"]
PYTORCH = [(way, tf32) for way in WAYS for tf32 in ("off", "on")]
TIMES_AS_FAST = 10
LARGE_LAYER = 8192  # weights
#: Gurgel's rule on adult, half the squared error; both ways of learning reach it from a start of +-1.6.
ADULT_ERROR = 0.06
ADULT = ["--no-header", "--categories", "index", "--missing", "category", "--scale", "minmax", "--task", "regress", "--layers", "10",
         "--hidden", "sigmoid", "--output", "sigmoid", "--rule", "plain", "--initial-weights", "1.6", "--target-error", ADULT_ERROR]
LEARNING = {("toman", "batch"): RULE,
            ("toman", "online"): ["--rule", "plain", "--batch", 1, "--rate", 0.3, "--no-shuffle", "--epochs", 40, "--report", 1],
            ("gurgel", "batch"): ["--batch", 0, "--rate", 4, "--epochs", 4000, "--report", 4000],
            ("gurgel", "online"): ["--batch", 1, "--rate", 0.1, "--no-shuffle", "--epochs", 40, "--report", 1]}
MEANING = {"chosen": "found by `heddle tune`", "untuned": "heddle's default", "gurgel": "as published, a launch for each layer and pass",
           "gurgel-wide": "the same for any network", "toman": "as published, sums by trees", "cublas-batch": "cuBLAS for each product",
           "sequential": "one thread of the CPU", "online": "heddle, weights change after every row",
           "t08": "the same by cuBLAS and a few kernels for each row, as published",
           "eager": "operation by operation", "captured": "a CUDA graph", "compiled": "torch.compile",
           "compiled-captured": "torch.compile in a CUDA graph"}


def t08(explore, device, sizes, rows):
    """Microseconds of a row; nothing on the CPU, or if there are several hidden layers."""
    if device.startswith("cpu") or len(sizes) != 3:
        return None
    return explored(explore, device, sizes, rows, 1, 1024, "--only", T08, "--rounds", 3).get(T08)


def sequential(explore, sizes, rows, batch):
    """Microseconds of a step on the CPU."""
    samples = max(batch, min(rows, 4096))
    return explored(explore, "cpu", sizes, rows, batch, samples, "--only", SEQUENTIAL, "--rounds", 3).get(SEQUENTIAL)


def seconds_for(sizes, budget):
    """Kernels that keep large layers on chip take the compiler some ten seconds each, small ones one."""
    return 2 * budget if max(a * b for a, b in zip(sizes, sizes[1:])) > LARGE_LAYER else budget


def timed(heddle, explore, device, network, budget):
    sizes, rows, batch = network[:3]
    each = tuned(tune(heddle, device, sizes, rows, batch, "--budget", f"{seconds_for(sizes, budget)}s"), batch)
    if each is None:
        return None
    steps = max(rows // batch, 1)
    epoch = {way: steps * each[way] for way in ("chosen", "untuned")}
    epoch |= {name: steps * time_of_step for name, time_of_step in each["named"].items() if name not in ("t08", "sequential")}
    one_row, step = t08(explore, device, sizes, rows), sequential(explore, sizes, rows, batch)
    epoch |= {"t08": one_row and rows * one_row, "sequential": step and steps * step}
    return {"steps": steps, "epoch": epoch, "configuration": each["configuration"], "templates": each["templates"],
            "name": each["name"]}


def trainings(heddle, device, data, tiny):
    """Epochs to the error, by batch and by online learning, of both networks."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        adult = pathlib.Path(folder, "adult.csv")
        adult.write_text("".join(line.rpartition(",")[0] + (",1\n" if ">50K" in line else ",0\n")
                                 for line in lines_of(data, "adult.data.gz") if line.strip()))
        sets = {"toman": [*digits(data, "t10k"), *NETWORK], "gurgel": [adult, *ADULT]}
        for (name, way), learning in LEARNING.items():
            document = json.loads(run([heddle, "train", *sets[name], *learning, "--network", "mlp", "--device", device, "--seed", 1,
                                       *(["--rows", 300] if tiny else []), "--json", "--quiet",
                                       "--model", pathlib.Path(folder, "model")]))
            last = document["epochs"][-1]
            found.setdefault(name, {})[way] = {
                "epochs": last["epoch"], "reached": document["ending"] == "target reached", "train_error": last["train_error"],
                "microseconds_per_epoch": document["microseconds_per_sample"] * document["data"]["train_rows"]}
    return found


def pytorch(device, networks, output, seconds):
    """All ways that end in time, if Python has torch."""
    if importlib.util.find_spec("torch") is None:
        print("mlp_published: this Python has no torch", file=sys.stderr)
        return
    cells = ",".join(f"{name_of(sizes, rows, rows)}:{rule}" + ("" if batch == rows else f":{batch}")
                     for sizes, rows, batch, rule, *_ in networks)
    here = pathlib.Path(__file__).resolve().parent
    done = subprocess.run([sys.executable, here / "mlp_pytorch.py", "--cells", cells, "--output", output, "--limit", f"{seconds:.0f}",
                           "--device", device.split(":")[0]], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        print(f"mlp_published: PyTorch: {(done.stderr.strip().splitlines() or ['no word'])[-1]}", file=sys.stderr)


def all_ways(found, beside, name):
    """Microseconds an epoch, by way."""
    return found[name]["epoch"] | {f"PyTorch {way}, TF32 {tf32}": time for (way, tf32), time in beside.get(name, {}).items()}


def table(document, beside):
    """`beside`: microseconds an epoch in PyTorch, by network and (way, TF32)."""
    found = document["networks"]
    print(f"Microseconds an epoch, {document['device']}; `sequential` on one core of its host. t08: online learning.\n")
    epochs = {name: all_ways(found, beside, name) for name in found}
    named = sorted({way for each in found.values() for way in each["epoch"]} - {"chosen", "untuned", "t08", "sequential"})
    ways = ["chosen", "untuned", *named, "t08", "sequential", *(f"PyTorch {way}, TF32 {tf32}" for way, tf32 in PYTORCH)]
    markdown(["network, rows: rows of a step", *ways, "chosen"],
             [[name, *(epochs[name].get(way) for way in ways), found[name]["configuration"]] for name in found])
    print("\nBars, of what was chosen:")
    for sizes, rows, batch, _, most, unit in NETWORKS:
        name = name_of(sizes, rows, batch)
        if most is not None:
            each = found.get(name)
            bar(f"{name}, a{'n epoch' if unit == 'epoch' else ' step'}",
                each and each["epoch"]["chosen"] / (each["steps"] if unit == "step" else 1), most, "us")
    print(f"\nPyTorch captured, TF32 off, over chosen; bar at least {TIMES_AS_FAST}:")
    for name in BOTH.values():
        captured = beside.get(name, {}).get(("captured", "off"))
        if name not in found or captured is None:
            print(f"- {name}: not measured")
            continue
        ratio = captured / found[name]["epoch"]["chosen"]
        print(f"- {name}: {ratio:.1f}: {'reached' if ratio >= TIMES_AS_FAST else '**not reached**'}")
    slower = [name for name in found if (captured := beside.get(name, {}).get(("captured", "off"))) and
              captured < found[name]["epoch"]["chosen"]]
    print(f"- slower than it: {', '.join(slower) or 'none'}")
    gurgels_tables(found)
    if "errors" in document:
        to_the_same_error(document, beside)


def to_the_same_error(document, beside):
    print("\n## To the same training error\n\nway: how an epoch is computed. epochs: until the error, of one training with heddle by the same "
          "rule from the same start (seed 1). us an epoch: from the table above, of online learning by heddle from its own training. "
          "ms: their product.")
    what = {"toman": "E <= 0.04, Toman's rule on MNIST's 10000 digits", "gurgel": f"half the squared error <= {ADULT_ERROR}, Gurgel's rule on adult"}
    for key, name in BOTH.items():
        each = document["errors"].get(key)
        if each is None or name not in document["networks"]:
            continue
        print(f"\n{name}, {what[key]}; online: a rule of its own, in the same rows' order every epoch\n")
        rows = []
        batch, online = each["batch"], each["online"]

        def line(way, meaning, of, time):
            rows.append([way, of["epochs"] if of["reached"] else f"{of['epochs']}, not reached", time,
                         time * of["epochs"] / 1000 if of["reached"] else None, meaning])

        for way, time in all_ways(document["networks"], beside, name).items():
            if time is not None and way != "t08":
                words = way.removeprefix("PyTorch ").partition(", ")
                line(way, MEANING.get(words[0], "") + (f", {words[2]}" if words[2] else ""), batch, time)
        line("online", MEANING["online"], online, online["microseconds_per_epoch"])
        if (row_by_row := document["networks"][name]["epoch"].get("t08")) is not None:
            line("t08", MEANING["t08"], online, row_by_row)
        markdown(["way", "epochs", "us an epoch", "ms to the error", "what it is"], rows)


#: The networks of the README's table, and the mapping that the publication of each proposes.
README_ROWS = [("784-25-15-10x10000", "Toman's digits", "toman"), ("14-10-1x32561", "Gurgel's adult", "gurgel"),
               ("108-10-1x32561", "adult, one-hot", "gurgel-wide"), ("784-128-10x65536:64", "mini-batches of 64", None),
               ("14-10-1x32561:1", "single rows", "t08")]


def readme(folder):
    """Lines: microseconds of a step of some networks, of what OUTPUT's file in `folder` has."""
    document = json.loads((folder / "mlp_published.json").read_text())
    beside = folder / "mlp_published_pytorch.json"
    times = pytorch_times(beside)
    card = document.get("name") or json.loads(beside.read_text())["device"]  # older files do not name it
    ways = [("captured", "off"), ("compiled-captured", "off"), ("compiled-captured", "on")]
    lines = [f"Microseconds a step of multilayer perceptrons on one {card}: a change of all weights, from as many rows as are named:", "",
             "| network, rows of a step | heddle, tuned | heddle, untuned | published mapping | cuBLAS | PyTorch, captured | compiled and captured "
             "| with TF32 | captured / tuned |", "|---|" + 8 * "--:|"]
    for name, label, published in README_ROWS:
        each = document["networks"].get(name)
        if each is None:
            continue
        network, _, rows = name.partition("x")
        ours = {way: time / each["steps"] for way, time in each["epoch"].items() if time is not None}
        theirs = [times.get(name, {}).get(way) for way in ways]
        ratio = theirs[0] / ours["chosen"] if theirs[0] else None
        figures = [ours["chosen"], ours["untuned"], ours.get(published), ours.get("cublas-batch"), *theirs, ratio]
        lines.append(f"| {network}, {rows.rpartition(':')[2]} ({label}) | " + " | ".join(number(figure) for figure in figures) + " |")
    budget = document.get("budget", 20)
    return lines + ["", f"- heddle, tuned: found by `heddle tune` in {budget:g} s, in {seconds_for([LARGE_LAYER, 2], budget):g} s where a layer has "
                    f"more than {LARGE_LAYER} weights",
                    "- heddle, untuned: what heddle trains with before anything was measured",
                    "- published mapping: Toman's, Gurgel's, for 108 inputs Gurgel's with several threads a row (his own allows 1024 weights), for single rows the "
                    "system that Gurgel compares with; each built here as published",
                    "- cuBLAS: a product of matrices for each layer and pass, in a CUDA graph",
                    "- PyTorch, captured; compiled and captured: the same step as a CUDA graph, and that of `torch.compile`, TF32 off; with TF32: the latter with it"]


#: Gurgel 2014, tables 6.1 and 6.2: seconds of whole trainings, by the CPU (6.1 only), T08 and his program.
GURGEL_SETS = {"2-4-1x4": ("xor", 0.03, 0.7, 0.7), "4-8-3x105": ("iris", 1.72, 1.02, 0.92), "14-10-1x32561": ("adult", 2952, 182, 76)}
GURGEL_ROWS = {"14-10-1x10": (0.482, 0.466), "14-10-1x100": (0.591, 0.472), "14-10-1x1000": (4.02, 2.67), "14-10-1x10000": (44.89, 24.55)}


def gurgels_tables(found):
    def ratio(above, below):
        return above / below if above and below else None

    print("\n## Gurgel's tables 6.1 and 6.2, ours in their shape\n\nMicroseconds an epoch; `gurgel` is the proposed mapping. Published ratios are of "
          "whole trainings, whose numbers of epochs are published nowhere.\n")
    rows = []
    for name, (label, cpu, t08_seconds, proposed) in GURGEL_SETS.items():
        of = found.get(name, {}).get("epoch", {})
        one, row, own, chosen = (of.get(way) for way in ("sequential", "t08", "gurgel", "chosen"))
        rows.append([f"{label}, {name}", one, row, own, ratio(one, own), cpu / proposed, ratio(row, own), t08_seconds / proposed, chosen,
                     ratio(one, chosen), ratio(row, chosen)])
    markdown(["6.1: set", "sequential", "t08", "gurgel", "sequential / gurgel", "published", "t08 / gurgel", "published", "chosen",
              "sequential / chosen", "t08 / chosen"], rows)
    print()
    rows = []
    for name, (t08_seconds, proposed) in GURGEL_ROWS.items():
        of = found.get(name, {}).get("epoch", {})
        row, own, chosen = (of.get(way) for way in ("t08", "gurgel", "chosen"))
        rows.append([name, row, own, ratio(row, own), t08_seconds / proposed, chosen, ratio(row, chosen)])
    markdown(["6.2: rows of adult", "t08", "gurgel", "t08 / gurgel", "published", "chosen", "t08 / chosen"], rows)


def widths(heddle, explore, device, budget, tiny):
    """14-h-1 of the hidden sizes that were tried for the published system T07."""
    rows = 320 if tiny else 32561
    found = []
    for hidden in WIDTHS[:2] if tiny else WIDTHS:
        sizes = [14, hidden, 1]
        each = tuned(tune(heddle, device, sizes, rows, rows, "--budget", f"{budget}s"), rows)
        one_row = t08(explore, device, sizes, rows)
        found.append([name_of(sizes, rows, rows), *((each["chosen"], each["untuned"]) if each else (None, None)),
                      one_row and rows * one_row, each["configuration"] if each else "nothing was verified in time"])
    print(f"Microseconds an epoch of 14-h-1 on {rows} rows; t08: online learning. T07 itself cannot be reproduced.\n")
    markdown(["network, rows", "chosen", "untuned", "t08", "chosen"], found)


def choices_of(explore):
    """What chooses among the kernels, as the program template_digests beside `explore` tells it; empty if it is not there."""
    program = pathlib.Path(explore).with_name("template_digests")
    return json.loads(run([program]))["choices"] if program.exists() else {}


def measure(options, document, file):
    """What is not in `document` yet; `file` is written after each network."""
    heddle, explore, device, data, _ = options.paths

    def keep():
        file.write_text(json.dumps(document, indent=1) + "\n")

    for network in TINY if options.tiny else NETWORKS:
        name = name_of(*network[:3])
        if name in document["networks"]:
            continue
        each = timed(heddle, explore, device, network, options.budget)
        if each is None:
            print(f"mlp_published: {name}: nothing was verified in time", file=sys.stderr)
            continue
        document["networks"][name] = each
        document["templates"], document["name"], document["commit"] = each.pop("templates"), each.pop("name"), options.commit
        document["choices"] = choices_of(explore)
        document["budget"] = options.budget
        document["date"] = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        keep()
    if "errors" not in document:
        document["errors"] = trainings(heddle, device, pathlib.Path(data), options.tiny)
        keep()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", metavar="HEDDLE EXPLORE DEVICE DATA OUTPUT")
    parser.add_argument("--budget", type=float, default=20)
    parser.add_argument("--commit", default="", help="recorded beside the times")
    parser.add_argument("--limit", type=float, default=470)
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--widths", action="store_true")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    end = time.monotonic() + options.limit
    if len(options.paths) != (1 if options.table else 5):
        parser.error("expected HEDDLE EXPLORE DEVICE DATA OUTPUT, or --table OUTPUT")
    file = pathlib.Path(options.paths[-1])
    beside = file.with_name(file.stem + "_pytorch.json")
    if options.table:
        return table(json.loads(file.read_text()), pytorch_times(beside, "epoch"))
    heddle, explore, device, data, _ = options.paths
    if options.widths:
        return widths(heddle, explore, device, options.budget, options.tiny)
    document = json.loads(file.read_text()) if file.exists() else {}
    if document.get("commit") != options.commit:  # other kernels
        document = {"device": device, "networks": {}}
    end_when_asked()
    try:
        measure(options, document, file)
        pytorch(device, TINY if options.tiny else NETWORKS, beside, end - time.monotonic())
    finally:
        table(document, pytorch_times(beside, "epoch"))



if __name__ == "__main__":
    main()
