#!/usr/bin/env python3
"""Prints the JSON of mapping_table as Markdown: a table per number of outputs, ratios, the worst cells, and what had to
be reached.

    bench/evidence/mapping_table.py FILE.json [--pytorch pytorch_step.json]
"""
import argparse
import json
import math
import pathlib

import origins

ORDER = ["floor", "chosen", "untuned", "default", "fixed", "fixed per outputs", "best captured", "launched captured", "atm captured",
         "gpu-fnn captured", "independent fused captured", "atm", "gpu-fnn", "independent gpu-fnn", "independent fused",
         "best pytorch", "pytorch captured", "pytorch compiled", "pytorch eager"]

WAYS_OF_PYTORCH = ["pytorch captured", "pytorch compiled", "pytorch eager"]
# Launches for every sample, captured in a graph.
CAPTURED = ["launched captured", "atm captured", "gpu-fnn captured"]
MEANINGS = {
    "floor": "the bytes, the operations and one round of exchange, at the rates measured on the card",
    "chosen": "what heddle chooses after tuning",
    "untuned": "what it chooses before anything was measured on the card, by the cost model that is shipped with it",
    "default": "what it falls back to where no cost model speaks",
    "fixed": "the one configuration that is best on average over all cells, found by search among all that every cell allows",
    "fixed per outputs": "likewise, one for each number of outputs",
    "best captured": "the fastest of what is launched for every sample (GPU-FNN, ATM, heddle's own, searched), in a captured graph",
    "launched captured": "the best that heddle launches for every sample, searched, captured in a graph, each launch set up after the one before it or while it runs",
    "atm captured": "ATM's winner, captured in a graph, the fastest way to launch of those tried",
    "gpu-fnn captured": "GPU-FNN with its better combine size, captured in a graph, likewise",
    "atm": "architecture-aware thread mapping, the best of its own space: three launches per sample",
    "gpu-fnn": "Juang and Chen, with the better combine size of each cell: three launches per sample",
    "independent gpu-fnn": "GPU-FNN as somebody else wrote it, without the rule decision",
    "independent fused": "the best fused step of three launches as somebody else wrote it, without the rule decision",
    "independent fused captured": "the same captured in a graph",
    "best pytorch": "PyTorch without the rule decision, the fastest of three ways: operation by operation, these in a CUDA graph, torch.compile's program in one",
    "pytorch captured": "PyTorch without the rule decision, a captured graph of many samples",
    "pytorch compiled": "PyTorch without the rule decision, what torch.compile makes of one sample's step, in a captured graph of many",
    "pytorch eager": "PyTorch without the rule decision, operation by operation",
}

# What files from before there were `templates` in them have under the same names.
OLDER_MEANINGS = {
    "fixed": "one configuration for all cells, the best on average of 48 that were drawn",
    "gpu-fnn": "Juang and Chen, with a combine size of 256 up to 256 rules and of 1024 beyond: three launches per sample",
}

# Ours and what somebody else wrote for the same job, without the rule decision; ours may take so many times as long.
COUNTERPARTS = [("gpu-fnn", "independent gpu-fnn"), ("best captured", "independent fused captured")]
MOST_OVER_COUNTERPART = 1.05

# Microseconds per sample, by rules, dim, outputs, on an H200.
TIMES = {(128, 16, 1): 0.7, (640, 16, 1): 1.2, (256, 128, 1): 1.2, (512, 256, 1): 1.8, (1024, 1024, 1): 2.6,
         (640, 16, 10): 1.6, (1024, 1024, 10): 3.2, (642, 16, 26): 2.4, (500, 617, 26): 2.8}
# How many times faster than a mapping in every cell with one output; None: the geometric mean over the cells.
RATIOS = {"gpu-fnn": [(5.0, "every")], "atm": [(3.0, "every")], "pytorch captured": [(12.0, "every")],
          "fixed": [(1.3, "mean")], "best captured": [(3.0, "every"), (4.5, "mean")]}
# Milliseconds for a batch, by rules, dim, outputs, rows.
BATCHES = {(500, 784, 10, 60000): 2.4}


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def key(cell):
    return tuple(cell["problem"][size] for size in ("rules", "dim", "outputs"))


def digits(time):
    return f"{time:.2f}" if time >= 1 else f"{time:.3f}"


def name(sizes):
    return " x ".join(map(str, sizes))


def pytorch_setting(file):
    """How PyTorch was set up for its columns, as far as its file says; nothing if there is none."""
    if not file or not pathlib.Path(file).exists():
        return ""
    document = json.loads(pathlib.Path(file).read_text())
    tf32 = f"TF32 {'on' if document['tf32'] else 'off'}" if "tf32" in document else "TF32 off by default"
    times = f", each way set up and timed {document['repetitions']} times" if "repetitions" in document else ""
    return f"PyTorch {document['torch']}, {tf32}{times}"


def meaning(document, role):
    """A column in one line."""
    text = (OLDER_MEANINGS if "templates" not in document else {}).get(role, MEANINGS[role])
    fixed = document.get("fixed", {}) if role == "fixed" else {}
    return text + (f" ({fixed['candidates']} of {fixed['allowed']} tried)" if "allowed" in fixed else "")


def stands_in(document):
    """Whether the fixed configuration is one that not all cells allow, so that the default stood in for it: that is no
    fixed mapping. Only in older files."""
    return document.get("fixed", {}).get("valid_cells", len(document["cells"])) < len(document["cells"])


def independent_times(file):
    """By rules and dim: the times of GPU-FNN, the fused step and its captured form, as the program prints them in lines of
    columns between bars, `rules dim | gpu-fnn | fused (its shape) | captured | ...`."""
    found = {}
    for line in pathlib.Path(file).read_text().splitlines():
        columns = [column.split() for column in line.split("|")]
        if len(columns) >= 4 and len(columns[0]) == 2 and all(word.isdigit() for word in columns[0]):
            found[tuple(map(int, columns[0]))] = tuple(float(column[0]) for column in columns[1:4])
    return found


def load(file, pytorch=None, independent=None):
    """The document, and for each cell the median, spread and configuration by role, of what ran and was right."""
    document = json.loads(pathlib.Path(file).read_text())
    stood_in = stands_in(document)
    found = {}
    for cell in document["cells"]:
        roles = found[key(cell)] = {}
        for entry in cell["entries"]:
            if "median" in entry and entry["status"] == "correct":
                for role in entry["roles"]:
                    if role == "fixed" and stood_in:
                        continue
                    # A baseline may have several configurations: the fastest stands for it.
                    if role not in roles or entry["median"] < roles[role][0]:
                        roles[role] = (entry["median"], entry["spread"], entry["configuration"])
        graphs = [roles[role] for role in CAPTURED if role in roles]
        if graphs:
            roles["best captured"] = min(graphs)
        if "floor" in cell:
            floor = cell["floor"]
            roles["floor"] = (floor["median"], 0.0, f"{floor['link']} {floor['blocks']}")
    if pytorch and pathlib.Path(pytorch).exists():
        for cell in json.loads(pathlib.Path(pytorch).read_text())["cells"]:
            roles = found.get(key(cell), {})
            for role in WAYS_OF_PYTORCH:
                way = role.split()[1]
                if way in cell and cell[way]["worst_error"] < 1e-2:
                    roles[role] = (cell[way]["median"], cell[way]["spread"], way)
            ways = [roles[role] for role in WAYS_OF_PYTORCH if role in roles]
            if ways:
                roles["best pytorch"] = min(ways)
    if independent and pathlib.Path(independent).exists():
        for (rules, dim), times in independent_times(independent).items():
            if (rules, dim, 1) in found:
                for way, time in zip(("gpu-fnn", "fused", "fused captured"), times):
                    found[rules, dim, 1][f"independent {way}"] = (time, 0.0, way)
    return document, found


def ratios(found, role):
    """How many times as long as the chosen one, by cell."""
    return {sizes: roles[role][0] / roles["chosen"][0] for sizes, roles in found.items()
            if role in roles and "chosen" in roles}


def dominates(larger, smaller):
    """Whether a problem has at least as much of everything: rules, inputs, outputs."""
    return all(a >= b for a, b in zip(larger, smaller))


def at_their_best(found, role):
    """By cell, the least time of a baseline there and at all problems that dominate it, and which of them has it. More work
    in less time says that the search of the smaller problem missed something."""
    times = {sizes: roles[role][0] for sizes, roles in found.items() if role in roles}
    return {sizes: min((times[other], other) for other in times if dominates(other, sizes)) for sizes in times}


def ratios_at_best(part, found, role):
    """As ratios(), of the cells of a part, with baselines at their best over all that was found."""
    best = at_their_best(found, role)
    return {sizes: best[sizes][0] / roles["chosen"][0] for sizes, roles in part.items() if sizes in best and "chosen" in roles}


def not_at_best(part, found):
    """Lines: captured baselines that took longer at a cell than at a larger one."""
    for role in CAPTURED:
        slower = {sizes: (part[sizes][role][0] / time, other) for sizes, (time, other) in at_their_best(found, role).items()
                  if sizes in part and time < part[sizes][role][0]}
        if slower:
            yield (f"- {role}, not at its best in {len(slower)} cells, for it takes longer than at a larger size: "
                   + ", ".join(f"{name(sizes)} ({times:.2f} times as long as {name(other)})"
                               for sizes, (times, other) in sorted(slower.items(), key=lambda each: -each[1][0])))


def table(found, roles):
    baselines = [role for role in roles if role != "chosen"]
    head = ["rules", "dim"] + roles + [f"{role} / chosen" for role in baselines] + ["chosen configuration"]
    yield "| " + " | ".join(head) + " |"
    yield "|" + "--:|" * (len(head) - 1) + "---|"
    for sizes, cell in found.items():
        row = [str(sizes[0]), str(sizes[1])]
        row += [f"{digits(cell[role][0])} ± {digits(cell[role][1])}" if role in cell else "–" for role in roles]
        for role in baselines:
            row.append(f"{cell[role][0] / cell['chosen'][0]:.2f}" if role in cell and "chosen" in cell else "–")
        row.append(f"`{cell['chosen'][2]}`" if "chosen" in cell else "–")
        yield "| " + " | ".join(row) + " |"


def mean_and_lowest(values):
    worst = min(values, key=values.get)
    return (f"geometric mean {geometric_mean(list(values.values())):.2f} over {len(values)} cells, "
            f"lowest {values[worst]:.2f} at {name(worst)}")


def summary(part, found, roles):
    """Ratios over a part of the cells; of captured baselines also with none slower than at a larger size."""
    for role in roles:
        values = ratios(part, role)
        if role == "chosen" or not values:
            continue
        line = f"- {role} / chosen: {mean_and_lowest(values)}"
        best = ratios_at_best(part, found, role) if role in ["best captured", *CAPTURED] else values
        yield line if best == values else f"{line}; at its best (no slower than at any larger size): {mean_and_lowest(best)}"


def counterparts(found):
    """How ours compare with what somebody else wrote for the same job: what is slower has to be explained."""
    for ours, theirs in COUNTERPARTS:
        beside = {sizes: roles[ours][0] / roles[theirs][0] for sizes, roles in found.items() if ours in roles and theirs in roles}
        if beside:
            slower = [sizes for sizes in beside if beside[sizes] > MOST_OVER_COUNTERPART]
            worst = max(beside, key=beside.get)
            yield (f"- {ours} / {theirs}: geometric mean {geometric_mean(list(beside.values())):.2f} over {len(beside)} cells, "
                   f"highest {beside[worst]:.2f} at {name(worst)}; more than {MOST_OVER_COUNTERPART:g} in {len(slower)}"
                   + (": " + ", ".join(map(name, slower)) if slower else ""))


def scheme(configuration):
    words = [word for word in configuration.split() if word.startswith("scheme=")]
    return words[0].split("=")[1] if words else configuration


def schemes(found):
    """Which scheme won where: a matrix of rules by dim."""
    rules = sorted({sizes[0] for sizes in found})
    dims = sorted({sizes[1] for sizes in found})
    by_size = {sizes[:2]: scheme(cell["chosen"][2]) for sizes, cell in found.items() if "chosen" in cell}
    yield "| rules \\ dim | " + " | ".join(map(str, dims)) + " |"
    yield "|--:|" + "---|" * len(dims)
    for r in rules:
        yield f"| {r} | " + " | ".join(by_size.get((r, d), "") for d in dims) + " |"


def targets(found, samples):
    """What had to be reached, as rows: what, target, measured, whether."""
    for sizes, limit in TIMES.items():
        if "chosen" in found.get(sizes, {}):
            time = found[sizes]["chosen"][0]
            yield f"{name(sizes)}", f"at most {limit} us", f"{time:.2f} us", time <= limit
    single = {sizes: roles for sizes, roles in found.items() if sizes[2] == 1}
    for role, limit, which in ((role, *each) for role, several in RATIOS.items() for each in several):
        values = ratios(single, role)
        if not values:
            continue
        if which == "mean":
            mean = geometric_mean(list(values.values()))
            yield f"{role} / chosen, L = 1, geometric mean", f"at least {limit:g}", f"{mean:.2f}", mean >= limit
        else:
            reached = sum(value >= limit for value in values.values())
            worst = min(values, key=values.get)
            yield (f"{role} / chosen, L = 1, every cell", f"at least {limit:g}",
                   f"{reached} of {len(values)} cells, lowest {values[worst]:.2f} at {name(worst)}",
                   reached == len(values))
    for sizes, limit in BATCHES.items():
        if "chosen" in found.get(sizes[:3], {}) and samples.get(sizes[:3]) == sizes[3]:
            time = found[sizes[:3]]["chosen"][0] * sizes[3] / 1000
            yield f"{sizes[3]} rows at {name(sizes[:3])}", f"at most {limit} ms", f"{time:.2f} ms", time <= limit


def limits(document):
    measured = document["limits"]
    yield (f"- {measured['operations_per_microsecond'] / 1e6:.1f} TFLOP/s float32; "
           f"{measured['cache_bytes_per_microsecond'] / 1e6:.2f} TB/s from the L2 cache, "
           f"{measured['memory_bytes_per_microsecond'] / 1e6:.2f} from memory; a launch "
           f"{measured['launch_microseconds']:.2f} us, a captured one {measured['node_microseconds']:.2f}")
    polled = any("first_look" in e for e in measured["exchanges"])
    rounds = [f"{e['link']} {e['blocks']}: {e['microseconds']:.3f}"
              + (f" ({e['replicas']} replicas, {e['first_look']} cycles)" if "first_look" in e else "")
              for e in measured["exchanges"]]
    yield ("- one round of exchange among so many blocks, us"
           + (" (copies of every packet, wait before the first look: the fastest of those tried)" if polled else "")
           + ": " + ", ".join(rounds))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--pytorch")
    parser.add_argument("--independent")
    options = parser.parse_args()
    document, found = load(options.file, options.pytorch, options.independent)
    present = {role for roles in found.values() for role in roles}
    roles = [role for role in ORDER if role in present] + sorted(present - set(ORDER))

    print(f"{document['name']}, {document['driver']}, {document['compiler']}, {document['clocks']}, "
          f"{document['date']}, commit {document['commit'] or 'unknown'}. Medians of {document['rounds']} interleaved "
          f"repetitions ± half the interquartile range, {document['unit']}.")
    print(f"\n    {document['command']}\n")
    if "fixed" in document:
        fixed = document["fixed"]
        if stands_in(document):
            print(f"No fixed mapping: the one compared was allowed in {fixed['valid_cells']} cells only, and the default, "
                  "which depends on the size, stood in elsewhere.\n")
        else:
            of = f" of {fixed['allowed']}" if "allowed" in fixed else ""
            print(f"Fixed: `{fixed['configuration']}`, the best geometric mean of {fixed['candidates']} candidates{of} that "
                  "all cells allow.\n")
    for outputs, fixed in document.get("fixed_per_outputs", {}).items():
        print(f"Fixed for L = {outputs}: `{fixed['configuration']}`, of {fixed['candidates']} candidates.\n")
    print("\n".join(f"- {role}: {meaning(document, role)}" for role in roles if role in MEANINGS) + "\n")
    tried = {role for cell in document["cells"] for entry in cell["entries"] for role in entry["roles"]}
    missing = [role for role in CAPTURED if role not in tried] if document["family"] == "sonfin-train" else []
    if missing and "templates" in document:  # older files are of before all of them were measured
        print(f"Not measured: {', '.join(missing)}.\n")
    if any(role.startswith("pytorch") for role in roles):
        print(f"{pytorch_setting(options.pytorch)}; measured "
              f"{origins.beside(pathlib.Path(options.file), pathlib.Path(options.pytorch))}.\n")
    if any(role.startswith("independent") for role in roles):
        print(f"The independent program was measured "
              f"{origins.beside(pathlib.Path(options.file), pathlib.Path(options.independent))}.\n")
    rows = {key(cell): cell["samples"] for cell in document["cells"]}
    reached = list(targets(found, rows)) if document["device"].startswith("cuda") else []
    if reached:
        print("### Targets\n\n| what | target | measured | reached |\n|---|---|---|---|")
        for what, target, measured, yes in reached:
            print(f"| {what} | {target} | {measured} | {'yes' if yes else '**no**'} |")
        print()
    if "limits" in document:
        print("### What the device can do at best\n\n" + "\n".join(limits(document)) + "\n")
    for outputs in sorted({sizes[2] for sizes in found}):
        part = {sizes: cell for sizes, cell in found.items() if sizes[2] == outputs}
        print(f"### L = {outputs}\n")
        print("\n".join(table(part, roles)) + "\n")
        print("\n".join([*summary(part, found, roles), *not_at_best(part, found)]) + "\n")
        if document["family"] == "sonfin-train" and len(part) > 2:
            print("The scheme chosen:\n\n" + "\n".join(schemes(part)) + "\n")
    beside = list(counterparts(found))
    if beside:
        print("### Beside another implementation of the same, without the rule decision\n\n" + "\n".join(beside) + "\n")
    print("### All cells\n")
    print("\n".join(summary(found, found, roles)))
    for cell in document["cells"]:
        for entry in cell["entries"]:
            if entry["status"] != "correct":
                print(f"- {name(key(cell))}: `{entry['configuration']}` is not listed: {entry['status']}")
    if not document["complete"]:
        print("\nThe run was cut short: cells are missing.")


if __name__ == "__main__":
    main()
