#!/usr/bin/env python3
"""What tuning pays over many perceptrons: chosen against untuned, and against the best fixed mappings.

    bench/mlp/mlp_networks.py HEDDLE EXPLORE DEVICE OUTPUT [--networks 30] [--budget 20s] [--first 0] [--pytorch FILE]
    bench/mlp/mlp_networks.py HEDDLE EXPLORE DEVICE OUTPUT --published [--budget 10s] [--pytorch FILE]
    bench/mlp/mlp_networks.py --cells [--networks 30]

The networks are drawn once and for all: 1 to 3 hidden layers of 4 to 256 neurons, 8 to 2048 inputs, 1 to 26 outputs, 1000 to
10^6 rows, all rows at once; 256 x 256 on 10^6 rows is always among them. For each, `heddle tune` searches for --budget, and
`explore` times every configuration of the fixed mappings. A fixed mapping is one configuration for all networks that it can
run; of each kind the one that can run most of them counts, and of several the fastest by the geometric mean. OUTPUT (JSON) is
written after every network; a run that finds it there goes on with the networks that it lacks, in parts: --first 10
--networks 10. --published takes those of the two publications, and what their table needs beside them, instead: chosen,
untuned, and every named configuration that a network has; fixed mappings are not timed. --cells prints the networks as bench/mlp/mlp_pytorch.py takes them; --pytorch names what that program wrote.
"""
import argparse
import json
import math
import pathlib
import random
import subprocess
import sys

KINDS = {"cuda": {"resident": "scheme=resident", "layered": "scheme=layered,product=tiles"}, "cpu": {"tiles": "scheme=tiles,coarsen_rows=4,coarsen_vectors=2,block_size=8"}}
MOST_FLOATS = 1 << 28  # of all rows
#: Sizes, rows, rows of a step. Toman's and Gurgel's; hidden sizes of 14-10-1, 108-10-1, 2-4-1 and 4-8-3 are published nowhere.
PUBLISHED = [([784, 25, 15, 10], 10000, 10000), ([14, 10, 1], 32561, 32561), ([108, 10, 1], 32561, 32561), ([2, 4, 1], 4, 4),
             ([4, 8, 3], 105, 105), ([784, 128, 10], 65536, 64), ([14, 10, 1], 32561, 1), ([784, 25, 15, 10], 60000, 60000),
             ([14, 10, 1], 10, 10), ([14, 10, 1], 100, 100), ([14, 10, 1], 1000, 1000), ([14, 10, 1], 10000, 10000)]


def networks(count):
    """(sizes, rows, rows of a step), the same ones for every count."""
    draw = random.Random(20)

    def size(least, most):
        return round(math.exp(draw.uniform(math.log(least), math.log(most))))

    drawn = [([256, 256, 256, 10], 1_000_000, 1_000_000)]
    while len(drawn) < count:
        sizes = [size(8, 2048), *(size(4, 256) for _ in range(draw.randint(1, 3))), draw.randint(1, 26)]
        rows = size(1000, 1_000_000)
        if rows * sizes[0] <= MOST_FLOATS:
            drawn.append((sizes, rows, rows))
    return drawn


def name_of(sizes, rows, batch):
    return "-".join(map(str, sizes)) + f"x{rows}" + ("" if batch == rows else f":{batch}")


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"mlp_networks: {' '.join(command[:2])}: {done.stderr.strip()}")
    return done.stdout


def tuned(heddle, device, sizes, rows, batch, budget, profiles):
    """Microseconds of a step, by way; nothing if the budget was too short for that."""
    named = [f"--hidden{i}={n}" for i, n in enumerate(sizes[1:-1], 1)]
    unnamed = [f"--hidden{i}=0" for i in range(len(sizes) - 1, 9)]
    document = json.loads(run([heddle, "tune", "--family", "mlp-train", "--device", device, f"--inputs={sizes[0]}", *named,
                               *unnamed, f"--outputs={sizes[-1]}", f"--rows={rows}", f"--batch={batch}", "--budget", budget,
                               "--profiles", profiles, "--json", "--quiet"]))
    result = document["results"][0]
    if result["profile"] is None or result["baseline"] is None:
        return None
    return {"chosen": result["profile"]["microseconds_per_sample"] * batch, "configuration": result["profile"]["configuration"],
            "untuned": result["baseline"]["microseconds_per_sample"] * batch,
            "named": {each["name"]: each["microseconds_per_sample"] * batch for each in result["named"]
                      if each["microseconds_per_sample"] is not None}}


def fixed(explore, device, sizes, rows, words):
    """Microseconds of a step, by configuration."""
    hidden = sizes[1:-1] + [0] * (8 - len(sizes[1:-1]))
    problem = "x".join(map(str, [sizes[0], *hidden, sizes[-1], rows, rows]))
    times = {}
    for line in run([explore, "--device", device, "--family", "mlp-train", "--problems", problem, "--match", words, "--samples",
                     str(16 * rows), "--rounds", "3", "--best", "1000"]).splitlines():
        number, _, configuration = line.strip().partition("  ")
        if configuration.startswith("scheme=") and number != "failed":
            times[configuration] = float(number) * rows
    return times


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan


def best_fixed(found, kind):
    """The configuration of a kind that can run most networks; of several the fastest over them."""
    times = {}
    for each in found.values():
        for configuration, time in each["fixed"][kind].items():
            times.setdefault(configuration, []).append(time / each["chosen"])
    if not times:
        return None, []
    most = max(map(len, times.values()))
    return min(((c, t) for c, t in times.items() if len(t) == most), key=lambda pair: mean(pair[1]))


def table(found, pytorch):
    names = sorted({name for each in found.values() for name in each["named"]})
    print("| " + " | ".join(["network, rows: rows of a step", "chosen, us a step", "untuned", *names, "PyTorch, captured", "chosen"]) + " |")
    print("|---|" + "--:|" * (3 + len(names)) + "---|")
    for name, each in found.items():
        times = [each["chosen"], each["untuned"], *(each["named"].get(word) for word in names), pytorch.get(name)]
        print("| " + " | ".join([name, *("–" if time is None else f"{time:.2f}" for time in times), each["configuration"]]) + " |")
    print(f"\nTimes as long as chosen, geometric mean of {len(found)} networks (largest):")
    ratios = [each["untuned"] / each["chosen"] for each in found.values()]
    print(f"- untuned: {mean(ratios):.3f} ({max(ratios):.2f})")
    for kind in {kind: None for each in found.values() for kind in each["fixed"]}:
        configuration, ratios = best_fixed(found, kind)
        if ratios:
            print(f"- best fixed {kind}, which {len(ratios)} of them can run: {mean(ratios):.3f} ({max(ratios):.2f}): {configuration}")
    for name in sorted({name for each in found.values() for name in each["named"]}):
        ratios = [each["named"][name] / each["chosen"] for each in found.values() if name in each["named"]]
        print(f"- {name}, {len(ratios)} of them: {mean(ratios):.2f} ({max(ratios):.2f})")
    ratios = [pytorch[name] / each["chosen"] for name, each in found.items() if name in pytorch]
    if ratios:
        print(f"- PyTorch, captured, {len(ratios)} of them: {mean(ratios):.2f}, at least {min(ratios):.2f}")


def captured_times(file):
    """Microseconds of a captured step with TF32 off, by network."""
    rows = json.loads(pathlib.Path(file).read_text())["rows"]
    def name(cell):  # "784-128-10x65536:adam:64" without the rule
        network, _, *batch = cell.split(":")
        return ":".join([network, *batch])

    return {name(row["cell"]): row["microseconds_per_step"] for row in rows
            if row["way"] == "captured" and row["tf32"] == "off" and row.get("ok")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", metavar="HEDDLE EXPLORE DEVICE OUTPUT")
    parser.add_argument("--networks", type=int, default=30)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--budget", default="20s")
    parser.add_argument("--published", action="store_true")
    parser.add_argument("--pytorch")
    parser.add_argument("--cells", action="store_true")
    options = parser.parse_args()
    wanted = PUBLISHED if options.published else networks(options.first + options.networks)[options.first:]
    if options.cells:
        print(",".join(f"{name_of(*each)}:adaptive" for each in wanted))
        return
    if len(options.paths) != 4:
        parser.error("expected HEDDLE EXPLORE DEVICE OUTPUT")
    heddle, explore, device, output = options.paths
    file = pathlib.Path(output)
    found = json.loads(file.read_text()) if file.exists() else {}
    for sizes, rows, batch in wanted:
        name = name_of(sizes, rows, batch)
        if name in found:
            continue
        each = tuned(heddle, device, sizes, rows, batch, options.budget, str(file.with_suffix(".sqlite")))
        if each is None:  # it is not kept, so that the next run tries it again
            print(f"mlp_networks: {name}: nothing was verified in {options.budget}", file=sys.stderr)
            continue
        each["fixed"] = {} if options.published else {kind: fixed(explore, device, sizes, rows, words)
                                                     for kind, words in KINDS[device.split(":")[0]].items()}
        found[name] = each
        file.write_text(json.dumps(found, indent=1) + "\n")
    table(found, captured_times(options.pytorch) if options.pytorch else {})


if __name__ == "__main__":
    main()
