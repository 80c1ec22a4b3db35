#!/usr/bin/env python3
"""Prints as Markdown what bench/evidence/tsk_evidence left in a folder. Usage: tsk_table.py FOLDER"""
import json
import os
import pathlib
import sys

import origins

TARGETS = {"PyTorch lstsq": 20, "PyTorch cholesky": 5, "published-split": 10}  # times as fast, at 256^2 samples
LARGEST_MILLISECONDS = {"cuda": 3.4, "cpu": 2000}  # of 100 iterations at 256^2 samples
LARGEST_LOSS_OF_DEFAULT = 8  # per cent slower than the fastest, at every size; on a GPU


def load(folder, name):
    path = os.path.join(folder, name)
    if not os.path.exists(path) or os.path.getsize(path) == 0:
        return None
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def digits(value):
    return "–" if value is None else f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def sizes_of(folder, measured):
    """By number of samples: microseconds per iteration by name, and the fastest configuration of heddle that is right."""
    beside = (load(folder, "tsk_pytorch.json") or {}).get("rows", [])
    sizes = {}
    for row in measured["rows"]:
        times, best = sizes.setdefault(row["rows"], ({}, None))
        if row.get("status") != "correct" or "microseconds_per_iteration" not in row:
            continue
        time = row["microseconds_per_iteration"]
        times.setdefault(row["name"], time)
        if row["name"] != "published-split" and (best is None or time < best["microseconds_per_iteration"]):
            sizes[row["rows"]] = (times, row)
    for row in beside:
        if row["rows"] in sizes:
            sizes[row["rows"]][0][row["name"]] = row["microseconds_per_iteration"]
    return dict(sorted(sizes.items()))


# Columns of the README that may be there, and what they are in one line.
COLUMNS = {"PyTorch lstsq": "PyTorch, lstsq", "PyTorch cholesky": "PyTorch, Cholesky",
           "PyTorch cholesky captured": "captured", "PyTorch cholesky compiled": "compiled",
           "published-split": "published split", "default": "heddle, untuned"}
MEANINGS = {"PyTorch lstsq": "`torch.linalg.lstsq`, operation by operation",
            "PyTorch cholesky": "normal equations in float64 and `cholesky_ex`, operation by operation",
            "PyTorch cholesky captured": "the same iteration in a CUDA graph",
            "PyTorch cholesky compiled": "the same made by `torch.compile`, in a CUDA graph",
            "published-split": "Ferreira and Cruz: a block for a row, a thread for a rule, least squares by a library",
            "default": "the family's default configuration"}


def pytorch_setting(folder):
    """What PyTorch was set to, one line or none."""
    setting = load(folder, "tsk_pytorch.json")
    if setting is None or "tf32" not in setting:
        return []
    each = {len(row.get("repetitions", [None])) for row in setting["rows"]}
    return [f"- PyTorch {setting['torch']}, TF32 {'on' if setting['tf32'] else 'off'}, the median of {max(each)} runs of each way, "
            f"measured {origins.beside(pathlib.Path(folder, 'tsk_table.json'), pathlib.Path('tsk_pytorch.json'))}"]


def readme(folder):
    """The table of README.md; empty if nothing was measured."""
    measured = load(folder, "tsk_table.json")
    if measured is None:
        return []
    sizes = sizes_of(folder, measured)
    names = [name for name in COLUMNS if any(name in times for times, _ in sizes.values())]
    lines = [f"Microseconds per iteration on one {measured['name']}:", "",
             "| samples | " + " | ".join(COLUMNS[name] for name in names)
             + " | heddle, fastest | floor of the card | heddle, 100 iterations |", "|--:|" + "--:|" * (3 + len(names))]
    for size, (times, best) in sizes.items():
        lines.append(f"| {size} | " + " | ".join(digits(times.get(name)) for name in names)
                     + (" | – | – | – |" if best is None else
                        f" | {digits(best['microseconds_per_iteration'])} | "
                        f"{digits(best.get('floor_microseconds_per_iteration'))} | "
                        f"{0.1 * best['microseconds_per_iteration']:.3g} ms |"))
    lines += [""] + [f"- {COLUMNS[name]}: {MEANINGS[name]}" for name in names]
    return lines + ["- heddle, fastest: of all resident configurations and some of the others",
                    "- floor of the card: the operations alone, at the card's peak rates"] + pytorch_setting(folder)


def reached(yes):
    return "reached" if yes else "**not reached**"


def bars(backend, sizes):
    """What had to be reached, and whether it was."""
    times, best = sizes.get(65536, ({}, None))
    if best is not None:
        most = LARGEST_MILLISECONDS[backend]
        yield (f"- 65536 samples, {best['iterations']} iterations: {best['milliseconds']:.3g} ms, bar {most} ms: "
               f"{reached(best['milliseconds'] <= most)}")
        for name, factor in TARGETS.items():
            if name in times:
                ratio = times[name] / best["microseconds_per_iteration"]
                yield f"- {name}: {ratio:.1f} times as long, bar {factor}: {reached(ratio >= factor)}"
    losses = {size: 100 * (times["default"] / best["microseconds_per_iteration"] - 1) for size, (times, best) in sizes.items()
              if best is not None and "default" in times}
    if backend == "cuda" and losses:
        worst = max(losses, key=losses.get)
        yield (f"- the default at every size: at most {losses[worst]:.1f} % slower than the fastest ({worst} samples), bar "
               f"{LARGEST_LOSS_OF_DEFAULT} %: {reached(losses[worst] <= LARGEST_LOSS_OF_DEFAULT)}")


def truck(folder):
    measured = load(folder, "tsk_table.json")
    if measured is None:
        return
    exact = {row["rows"]: row for row in (load(folder, "tsk_reference.json") or {}).get("rows", [])}
    yield f"## Truck, 35 rules, {measured['iterations']} iterations: {measured['name']}, {measured['date']}\n"
    yield "Microseconds per iteration; errors are mean squared errors of the best system, in standardised units.\n"
    yield ("| samples | floor | heddle, fastest | default | published split | PyTorch lstsq | PyTorch Cholesky | captured | "
           "compiled | ms in all | error | float64 LAPACK |")
    yield "|--:|" + "--:|" * 11
    sizes = sizes_of(folder, measured)
    for size, (times, best) in sizes.items():
        if best is None:
            yield f"| {size} | no configuration was right |"
            continue
        right = exact.get(size, {}).get("best_error")
        off = "" if right is None else f" ({100 * (best['best_error'] / right - 1):+.3f} %)"
        yield (f"| {size} | {digits(best.get('floor_microseconds_per_iteration'))} | "
               f"{digits(best['microseconds_per_iteration'])} | {digits(times.get('default'))} | "
               f"{digits(times.get('published-split'))} | {digits(times.get('PyTorch lstsq'))} | "
               f"{digits(times.get('PyTorch cholesky'))} | {digits(times.get('PyTorch cholesky captured'))} | "
               f"{digits(times.get('PyTorch cholesky compiled'))} | {best['milliseconds']:.3g} | {best['best_error']:.6g}{off} | "
               f"{'–' if right is None else f'{right:.6g}'} |")
    wrong = [row for row in measured["rows"] if row.get("status") != "correct"]
    for row in wrong:
        yield f"\nNot counted: {row['rows']} samples, `{row['configuration']}`: {row['status']}, {row.get('message', '')}"
    yield ""
    yield from bars(measured["backend"], sizes)
    yield "\nFastest:\n"
    for size, (_, best) in sizes.items():
        if best is not None:
            yield f"- {size}: `{best['configuration']}`, verified to {best['worst_error']:.1e}"


def mackey(folder):
    document = load(folder, "tsk_mackey.json")
    begin = load(folder, "tsk_mackey_first.json")
    if document is None or begin is None:
        return
    errors = [(epoch["epoch"], epoch["test"]["rmse"]) for epoch in document["epochs"]]
    first, best = begin["epochs"][0]["test"]["rmse"], min(error for _, error in errors)
    yield "\n## Mackey-Glass, 16 rules, linear consequents\n"
    yield (f"Check RMSE {errors[-1][1]:.5f} at the end, {best:.5f} at best, {first:.5f} after the first solution: "
           f"{100 * (1 - errors[-1][1] / first):.0f} % less (wanted: at most 0.0020, at least 30 % less).")


def scaling(folder):
    errors = {}
    for name, title in (("tsk_rows.json", "Rows"), ("tsk_rows_cpu.json", "Rows, on the CPU"), ("tsk_rules.json", "Rules"),
                        ("tsk_rules_cpu.json", "Rules, on the CPU")):
        document = load(folder, name)
        if document is None:
            continue
        yield f"\n## {title}: {document['name']}, {document['family']}\n"
        yield "| problem | configuration | ms per iteration | error of the last iteration | status |\n|---|---|--:|--:|---|"
        for row in document["rows"]:
            yield (f"| {row['problem']} | {row['configuration']} | {digits(row.get('milliseconds_per_iteration'))} | "
                   f"{row.get('last_error', float('nan')):.9g} | {row.get('status', '')} {row.get('message', '')} |")
            if "last_error" in row:
                errors.setdefault((row["problem"], row["iterations"]), []).append(row["last_error"])
    for (problem, iterations), found in errors.items():
        if len(found) > 1:
            yield (f"\n{problem}: the errors of {len(found)} runs after {iterations} iterations differ by "
                   f"{max(found) / min(found) - 1:.1e} of themselves.")


def inputs(folder):
    document = load(folder, "tsk_inputs.json")
    if document is None:
        return
    last = document["epochs"][-1]
    yield "\n## Inputs: isolet, 617, constant consequents\n"
    yield (f"{last['rules']} rules, {last['epoch']} iterations: test accuracy {100 * last['test']['accuracy']:.2f} %; "
           f"{sum(epoch['seconds'] for epoch in document['epochs']):.2f} s with scoring.")


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: tsk_table.py FOLDER")
    for part in (truck, mackey, scaling, inputs):
        for line in part(sys.argv[1]):
            print(line)


if __name__ == "__main__":
    main()
