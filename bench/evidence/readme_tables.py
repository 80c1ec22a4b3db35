#!/usr/bin/env python3
"""Writes the tables of README.md from bench/results/.

    bench/evidence/readme_tables.py [--check] [--program build/release/bench/template_digests]

Changes README.md in place. With --check it only says what is wrong with it, exit code 1: a table that is not what the
results say; a table from kernels other than those of the code, unless the words "Measured with older kernels" stand between it
and the next heading or table; these words beside a table of today's kernels. The program prints the digests of the code.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys

import mapping_table
import tsk_table
import vintage
import whole_runs

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench" / "results"
CELLS = [(32, 16, 1), (640, 16, 1), (256, 256, 1), (1024, 16, 1), (1024, 512, 1), (1024, 1024, 1), (32, 16, 10),
         (640, 16, 10), (256, 256, 10), (1024, 16, 10), (1024, 512, 10), (1024, 1024, 10), (642, 16, 26), (500, 617, 26)]
COLUMNS = {"pytorch captured": "PyTorch, captured", "gpu-fnn": "GPU-FNN", "atm": "ATM",
           "best captured": "launched, best captured", "fixed": "one fixed mapping",
           "default": "heddle, untuned", "chosen": "heddle, tuned", "floor": "floor of the card"}
MEANINGS = {
    "pytorch captured": "PyTorch: the same step without the rule decision, captured as a CUDA graph.",
    "atm": "ATM: architecture-aware thread mapping, the best of its own space (three launches per sample; coarsening, its "
           "count, block size and threads per rule searched in the same run).",
    "best captured": "Best captured: the fastest of GPU-FNN, ATM and what heddle launches for every sample, each captured in "
                     "a graph.",
    "floor": "Floor: the bytes, the operations and one round of exchange between the blocks that have to share a sample, "
             "at the rates measured on the card.",
}


def load(name: str):
    return json.loads((RESULTS / name).read_text())


def gpu() -> str:
    folder = RESULTS / "nvidia-h200"
    _, found = mapping_table.load(folder / "mapping_table.json", folder / "pytorch_step.json")
    roles = [role for role in COLUMNS if any(role in cell for cell in found.values())]
    meanings = [MEANINGS[role] for role in roles if role in MEANINGS]
    lines = ["| rules x dim x outputs | " + " | ".join(COLUMNS[role] for role in roles) + " | GPU-FNN / tuned |",
             "|---|" + "--:|" * (len(roles) + 1)]
    for sizes in CELLS:
        if sizes in found:
            cell = found[sizes]
            figures = " | ".join(mapping_table.digits(cell[role][0]) if role in cell else "–" for role in roles)
            lines.append(f"| {mapping_table.name(sizes)} | {figures} | {cell['gpu-fnn'][0] / cell['chosen'][0]:.1f} |")
    lines += ["", " ".join(meanings)] if meanings else []
    for outputs in sorted({sizes[2] for sizes in found}):
        part = {sizes: cell for sizes, cell in found.items() if sizes[2] == outputs}
        if len(part) < 42:
            continue
        said = []
        for role in ("gpu-fnn", "atm", "pytorch captured", "best captured", "fixed"):
            ratios = list(mapping_table.ratios(part, role).values())
            if ratios:
                said.append(f"{COLUMNS[role]} {mapping_table.geometric_mean(ratios):.2f} ({min(ratios):.2f})")
        lines += ["", f"Times as long as what heddle chose, geometric mean (and lowest) of {len(part)} cells with "
                  f"L = {outputs}: " + "; ".join(said) + "."]
    for plot, meaning in (("time_against_rules.svg", "Time per sample against rules"),
                          ("time_against_dim.svg", "Time per sample against inputs")):
        if (folder / plot).exists():
            lines += ["", f"![{meaning}](bench/results/nvidia-h200/{plot})"]
    lines += runs(folder / "whole_runs.json") + batch(folder / "predict_table.json")
    return "\n".join(lines)


def runs(file: pathlib.Path) -> list[str]:
    if not file.exists():
        return []
    document = json.loads(file.read_text())
    ways = {"cpu": f"CPU, {document['cores']} cores", "gpu-fnn": "GPU-FNN, host decides", "atm": "ATM", "heddle": "heddle"}
    lines = ["", "Whole training runs, seconds per epoch:", "",
             "| data | rows | dim x outputs | rules | " + " | ".join(ways.values()) + " |", "|---|" + "--:|" * 7]
    for entry in document["sets"]:
        times = [whole_runs.per_epoch(entry["runs"][way]) if way in entry["runs"] else None for way in ways]
        lines.append(f"| {entry['name']} | {entry['rows']} | {entry['dim']} x {entry['outputs']} | {entry['max_rules']} | "
                     + " | ".join(whole_runs.number(time, 3) for time in times) + " |")
    return lines


def batch(file: pathlib.Path) -> list[str]:
    if not file.exists():
        return []
    document, found = mapping_table.load(file)
    lines = []
    for cell in document["cells"]:
        sizes, rows = mapping_table.key(cell), cell["samples"]
        best = found[sizes]
        if "chosen" in best:
            floor = f"; the card's arithmetic alone takes {best['floor'][0] * rows / 1000:.2f} ms" if "floor" in best else ""
            lines += ["", f"Prediction of {rows} rows at {mapping_table.name(sizes)}: {best['chosen'][0] * rows / 1000:.2f} "
                      f"ms{floor}."]
    return lines


def least_squares() -> str:
    return "\n".join(tsk_table.readme(RESULTS / "nvidia-h200"))


def cpu() -> str:
    lines = ["| rules x dim x outputs | plain loop, one core | heddle, untuned | heddle, tuned | times faster |",
             "|---|--:|--:|--:|--:|"]
    for row in load("xeon-ice-lake-2-cores/cpu_step.json")["steps"]:
        sizes = " x ".join(part.split("=")[1] for part in row["problem"].split())
        plain, untuned, tuned = (row["quiet"][name]["median_us"] for name in ("plain", "default", "tuned"))
        lines.append(f"| {sizes} | {plain:.1f} | {untuned:.1f} | {tuned:.1f} | {plain / tuned:.1f} |")
    return "\n".join(lines)


TABLES = {"gpu": gpu, "least squares": least_squares, "cpu": cpu}
# What each is made from, as far as heddle's kernels were measured for it.
FILES = {"gpu": ["nvidia-h200/mapping_table.json", "nvidia-h200/mapping_lines.json", "nvidia-h200/whole_runs.json",
                 "nvidia-h200/predict_table.json"],
         "least squares": ["nvidia-h200/tsk_table.json"],
         "cpu": ["xeon-ice-lake-2-cores/cpu_step.json"]}


def up_to_date(text: str) -> str:
    for name, table in TABLES.items():
        begin, end = f"<!-- {name} table -->\n", f"\n<!-- end of {name} table -->"
        before, rest = text.split(begin)
        text = before + begin + table() + end + rest.split(end)[1]
    return text


def beside(text: str, name: str) -> str:
    """What the text says of a table: from its end to the next heading or table."""
    rest = text.split(f"<!-- end of {name} table -->")[1]
    return re.split(r"^#|^<!-- ", rest, maxsplit=1, flags=re.MULTILINE)[0]


def vintages(text: str, digests: dict) -> list[str]:
    """What is wrong with the words about the kernels that the tables were measured with."""
    wrong = []
    for name, files in FILES.items():
        old = [reason for file in files if (RESULTS / file).exists() for reason in vintage.older(RESULTS / file, digests)]
        said = re.search(r"measured\s+with\s+older\s+kernels", beside(text, name), re.IGNORECASE)
        if old and not said:
            wrong.append(f'README.md: the {name} table does not say "Measured with older kernels": {"; ".join(old)}')
        if said and not old:
            wrong.append(f"README.md: the {name} table is of today's kernels; beside it stands \"{said.group()}\"")
    return wrong


def check(text: str, digests: dict) -> list[str]:
    stale = [] if up_to_date(text) == text else ["README.md: its tables are not what bench/results/ says; run "
                                                 "bench/evidence/readme_tables.py"]
    return stale + vintages(text, digests)


def main() -> int:
    parser = argparse.ArgumentParser(description="Writes the tables of README.md, or checks them")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/release/bench/template_digests")
    options = parser.parse_args()
    file = ROOT / "README.md"
    if not options.check:
        file.write_text(up_to_date(file.read_text()))
        return 0
    try:
        digests = json.loads(subprocess.run([options.program], check=True, capture_output=True, text=True).stdout)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"readme_tables.py: no digests of the code: {error}; build template_digests", file=sys.stderr)
        return 1
    wrong = check(file.read_text(), digests)
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
