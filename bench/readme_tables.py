#!/usr/bin/env python3
"""Writes the tables of README.md from bench/results/: `bench/readme_tables.py` changes it in place, `--check` only says
whether it is up to date (exit code 1 if not).
"""
import json
import math
import pathlib
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CELLS = [(32, 16), (256, 256), (1024, 16), (1024, 512), (1024, 1024)]


def load(name: str):
    return json.loads((ROOT / "bench" / "results" / name).read_text())


def gpu() -> str:
    cells = load("nvidia-h200/mapping_table.json")["cells"]

    def of(cell, role):
        return next(entry["median"] for entry in cell["entries"] if role in entry["roles"])

    lines = ["| rules x dim x outputs | GPU-FNN | one fixed mapping | heddle, untuned | heddle, tuned | GPU-FNN / tuned |",
             "|---|--:|--:|--:|--:|--:|"]
    ratios = {}
    for cell in cells:
        rules, dim, outputs = (cell["problem"][size] for size in ("rules", "dim", "outputs"))
        times = [of(cell, name) for name in ("gpu-fnn", "fixed", "default", "chosen")]
        ratios.setdefault(outputs, []).append(times[0] / times[3])
        if (rules, dim) in CELLS:
            figures = " | ".join(f"{time:.2f}" for time in times)
            lines.append(f"| {rules} x {dim} x {outputs} | {figures} | {times[0] / times[3]:.1f} |")
    for outputs, values in ratios.items():
        mean = math.exp(statistics.fmean(map(math.log, values)))
        lines += ["", f"Over all {len(values)} cells with L = {outputs}, GPU-FNN takes {mean:.2f} times as long as what heddle "
                  f"chose (geometric mean), at least {min(values):.2f} times."]
    return "\n".join(lines)


def cpu() -> str:
    lines = ["| rules x dim x outputs | plain loop, one core | heddle, untuned, two cores | times faster |", "|---|--:|--:|--:|"]
    for row in load("xeon-sapphire-rapids-2-cores/cpu_step.json")["steps"]:
        sizes = " x ".join(part.split("=")[1] for part in row["problem"].split())
        lines.append(f"| {sizes} | {row['plain']['median_us']:.1f} | {row['default']['median_us']:.1f} | "
                     f"{row['default_ratio']:.1f} |")
    return "\n".join(lines)


def main() -> int:
    file = ROOT / "README.md"
    old = text = file.read_text()
    for name, table in (("gpu", gpu), ("cpu", cpu)):
        begin, end = f"<!-- {name} table -->\n", f"\n<!-- end of {name} table -->"
        before, rest = text.split(begin)
        text = before + begin + table() + end + rest.split(end)[1]
    if "--check" in sys.argv:
        return 0 if text == old else 1
    file.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
