#!/usr/bin/env python3
"""What tuning pays over many perceptrons: chosen against untuned, and against the best fixed mappings.

    bench/mlp/mlp_networks.py HEDDLE EXPLORE DEVICE OUTPUT [--networks 30] [--first 0] [--budget 12] [--pytorch FILE]
    bench/mlp/mlp_networks.py --table OUTPUT [--pytorch FILE]
    bench/mlp/mlp_networks.py --cells [--networks 30]

The networks are drawn once and for all: 1 to 3 hidden layers of 4 to 256 neurons, 8 to 2048 inputs, 1 to 26 outputs, 1000 to
10^6 rows, all rows at once; the extremes are always among them. For each, `heddle tune` searches for --budget seconds, longer where
verification alone takes long. Then one process of `explore` times what it chose, the default and a list of
fixed ones, the same list for all networks, likely ones first; the chosen, the default and the fastest few by turns at its end. Named
configurations were timed while it searched. A fixed mapping is
one configuration for all networks that it can run; of each kind the one that can run most of them counts, and of several the
fastest by the geometric mean. OUTPUT (JSON) is written after every network; a run that finds it there goes on with the networks
that it lacks, in parts: --first 10 --networks 10. --cells prints the networks as bench/mlp/mlp_pytorch.py takes them; --pytorch
names what that program wrote.
"""
import argparse
import itertools
import json
import math
import pathlib
import random
import sys

from mlp_heddle import end_when_asked, explored, markdown, mean, name_of, pytorch_times, tune, tuned, weights_of

ALL = 30
MOST_FLOATS = 1 << 28  # of all rows
EXTREMES = [([256, 256, 256, 10], 1_000_000, 1_000_000), ([2048, 64, 26], 20_000, 20_000), ([8, 4, 1], 1000, 1000)]
BY_TURNS = 4  # fixed ones, beside the chosen and the default
KINDS = {"resident": ("resident", "warps", "cluster", "spread", "neurons"), "layered": ("layered",), "tiles": ("tiles",)}


def networks(count):
    """(sizes, rows, rows of a step), the same ones for every count."""
    draw = random.Random(20)

    def size(least, most):
        return round(math.exp(draw.uniform(math.log(least), math.log(most))))

    drawn = list(EXTREMES)
    while len(drawn) < count:
        sizes = [size(8, 2048), *(size(4, 256) for _ in range(draw.randint(1, 3))), draw.randint(1, 26)]
        rows = size(1000, 1_000_000)
        if rows * sizes[0] <= MOST_FLOATS:
            drawn.append((sizes, rows, rows))
    return drawn[:count]


def fixed_mappings(device, units):
    """Texts of configurations. Counts of blocks are those of kernels/mlp/cuda/train_mapping.cpp for so many multiprocessors."""
    if device.startswith("cpu"):
        return [f"scheme=tiles coarsen_rows={rows} coarsen_vectors=2 tile_rows={tile} block_size=8 threads={threads}"
                for rows, tile, threads in itertools.product((4, 8), (32, 128), (1, units))]
    power = 1 << ((units - 1).bit_length() - 1)  # the largest below
    even = (units - -(-units // 16)) // 8 * 8 or power  # leaves a sixteenth idle
    few, small = min(32, power), min(8, power)

    return [*(f"scheme=layered product=tiles tile={tile} pieces=1" for tile in (128, 64)),
            *(f"scheme=resident block_size={threads} blocks={blocks} rows_in={rows}"
              for threads, blocks, rows in itertools.product((256, 512), (units, few, 1), ("shared", "bytes", "global"))),
            *(f"scheme=warps block_size={threads} blocks={blocks}" for threads, blocks in itertools.product((64, 256, 512), (units, small))),
            *(f"scheme=cluster block_size={threads} blocks={blocks} input_parts={parts} pass_rows={rows}"
              for threads, (blocks, parts), rows in itertools.product((256, 512), ((power, 2), (even, 4), (even, 8)), (0, 48))),
            *(f"scheme=spread block_size=512 blocks={even} input_parts={parts}" for parts in (4, 8)),
            *(f"scheme=neurons block_size=512 blocks={even} input_parts={parts}" for parts in (4, 8))]


def seconds_for(network, least):
    """What tuning may take: the float64 reference alone needs a second for some 10^10 products of a weight and a row."""
    sizes, rows, _ = network
    return min(least + rows * weights_of(sizes) / 2e9, max(60, least))


def timed(heddle, explore, device, network, budget):
    """Microseconds of an epoch by way; nothing if the budget was too short to verify one."""
    sizes, rows, batch = network
    each = tuned(tune(heddle, device, sizes, rows, batch, "--budget", f"{budget:.0f}s"), batch)
    if each is None:
        return None
    fixed = fixed_mappings(device, each["units"])
    first = [each["configuration"], each["untuned_configuration"]]
    keep = len(dict.fromkeys(first))
    texts = dict.fromkeys([*first, *fixed])
    words = [word for text in texts for word in ("--only", text)]
    times = explored(explore, device, sizes, rows, batch, each["samples"], *words, "--rounds", 3, "--keep", keep, "--best", BY_TURNS,
                     "--limit", f"{18 + budget:.0f}")
    each["fixed"] = {text: times[text] for text in fixed if text in times}
    for way, text in zip(("chosen", "untuned"), first):
        each[way] = times.get(text, each[way])
    return each


def kind_of(configuration):
    scheme = configuration.split()[0].removeprefix("scheme=")
    return next(kind for kind, schemes in KINDS.items() if scheme in schemes)


def best_fixed(found, kind):
    """The configuration of a kind that can run most networks; of several the fastest over them: its ratios, by network."""
    ratios = {}
    for name, each in found.items():
        for configuration, time in each["fixed"].items():
            if kind_of(configuration) == kind:
                ratios.setdefault(configuration, {})[name] = time / each["chosen"]
    if not ratios:
        return None, {}
    most = max(map(len, ratios.values()))
    return min(((c, r) for c, r in ratios.items() if len(r) == most), key=lambda pair: mean(pair[1].values()))


def ratios_of(what, ratios, foot=""):
    if ratios:
        print(f"- {what}, {len(ratios)} of {ALL}: {mean(ratios.values()):.3f} (largest {max(ratios.values()):.2f}){foot}")


def table(document, pytorch):
    """`pytorch`: microseconds of a captured epoch with TF32 off, by network."""
    found = document["networks"]
    names = sorted({name for each in found.values() for name in each["named"]})
    markdown(["network, rows", "chosen, us an epoch", "untuned", *names, "PyTorch, captured", "chosen"],
             [[name, each["chosen"], each["untuned"], *(each["named"].get(word) for word in names), pytorch.get(name), each["configuration"]]
              for name, each in found.items()])
    expected = [name_of(*network) for network in networks(ALL)]
    missing = [name for name in expected if name not in found]
    unverified = [f"{name} in {document['unverified'][name]:.0f} s" for name in missing if name in document["unverified"]]
    not_run = [name for name in missing if name not in document["unverified"]]
    print(f"\n{len(found)} of {ALL} networks have times. Nothing was verified: {', '.join(unverified) or 'none'}. "
          f"Not run: {', '.join(not_run) or 'none'}.")
    print("\nTimes as long as chosen, geometric means:")
    ratios_of("untuned", {name: each["untuned"] / each["chosen"] for name, each in found.items()})
    for kind, schemes in KINDS.items():
        configuration, ratios = best_fixed(found, kind)
        without = [name for name in found if name not in ratios]
        ratios_of(f"best fixed {kind} mapping", ratios,
                  f": `{configuration}`, the best single one of the schemes {', '.join(schemes)}; it cannot run, or was too slow to be "
                  f"timed for: {', '.join(without) or 'none'}")
    for name in names:
        ratios_of(name, {network: each["named"][name] / each["chosen"] for network, each in found.items() if name in each["named"]})
    beside = {name: pytorch[name] / each["chosen"] for name, each in found.items() if name in pytorch}
    slower = [f"{name} ({ratio:.2f})" for name, ratio in beside.items() if ratio < 1]
    ratios_of("PyTorch, captured, TF32 off", beside, f", smallest {min(beside.values(), default=math.nan):.2f}")
    print(f"- {len(beside)} of {ALL} networks have a PyTorch time; slower than it: {', '.join(slower) or 'none'}")


def measure(options, wanted, document, file):
    heddle, explore, device, _ = options.paths
    for sizes, rows, _ in wanted:
        rows = min(rows, options.most_rows)
        network = (sizes, rows, rows)
        name = name_of(*network)
        if name in document["networks"]:
            continue
        budget = seconds_for(network, options.budget)
        each = timed(heddle, explore, device, network, budget)
        document["unverified"].pop(name, None)
        if each is None:  # the next run tries it again
            document["unverified"][name] = budget
            print(f"mlp_networks: {name}: nothing was verified in {budget:.0f} s", file=sys.stderr)
        else:
            document["networks"][name] = each
        file.write_text(json.dumps(document, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", metavar="HEDDLE EXPLORE DEVICE OUTPUT")
    parser.add_argument("--networks", type=int, default=ALL)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--budget", type=float, default=12)
    parser.add_argument("--most-rows", type=int, default=10**9, help="for a trial")
    parser.add_argument("--pytorch")
    parser.add_argument("--cells", action="store_true")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    wanted = networks(options.first + options.networks)[options.first:]
    if options.cells:
        print(",".join(f"{name_of(*each)}:adaptive" for each in wanted))
        return
    if len(options.paths) != (1 if options.table else 4):
        parser.error("expected HEDDLE EXPLORE DEVICE OUTPUT, or --table OUTPUT")
    file = pathlib.Path(options.paths[-1])
    document = json.loads(file.read_text()) if file.exists() else {"networks": {}, "unverified": {}}
    end_when_asked()
    try:
        if not options.table:
            measure(options, wanted, document, file)
    finally:
        table(document, {name: times["captured", "off"] for name, times in pytorch_times(options.pytorch).items()
                         if ("captured", "off") in times})



if __name__ == "__main__":
    main()
