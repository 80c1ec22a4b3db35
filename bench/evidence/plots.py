#!/usr/bin/env python3
"""Draws time per sample against rules and against inputs, one line per mapping.

    bench/evidence/plots.py mapping_lines.json pytorch_step.json FOLDER [--format svg|png]

Writes time_against_rules and time_against_dim into FOLDER. Thin dashed lines are the published times of GPU-FNN and ATM
on a Tesla C2050 (bench/published/).
"""
import argparse
import csv
import math
import pathlib

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter  # noqa: E402

import mapping_table  # noqa: E402

PUBLISHED = pathlib.Path(__file__).resolve().parent.parent / "published"
# Role, label, colour; from slow to fast.
ROLES = [("best pytorch", "PyTorch, fastest way", "#c9a227"), ("gpu-fnn", "GPU-FNN", "#b5382a"),
         ("atm", "ATM, best of its space", "#dd8452"), ("best captured", "best launched mapping, captured graph", "#55a868"),
         ("fixed", "one fixed configuration", "#7a5195"),
         ("chosen", "heddle", "#1b4f9c"), ("floor", "floor of the card", "#777777")]
# Column of the published tables, label, colour.
OLD = [("gpu_fnn", "GPU-FNN on a Tesla C2050, as published", "#b5382a"),
       ("atm", "ATM on a Tesla C2050, as published", "#dd8452")]


def published(name, column):
    with open(PUBLISHED / name, encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    place = rows[0].index(column)
    return [int(row[0]) for row in rows[1:]], [float(row[place]) for row in rows[1:]]


def draw(found, file, fixed, values):
    """A panel for each of `values` of the size at place `fixed` (0: rules, 1: inputs), against the other size."""
    against = 1 - fixed
    values = [value for value in values if any(sizes[fixed] == value and sizes[2] == 1 for sizes in found)]
    names = ("rules", "inputs")
    figure, panels = plt.subplots(1, len(values), figsize=(2.6 * len(values) + 0.6, 4.2), sharey=True)
    lines = {}
    for axes, value in zip(panels, values):
        for column, label, colour in OLD:
            table, prefix = (("atm-table2-kernel-time-us.csv", "r"), ("atm-table1-kernel-time-us.csv", "dim"))[fixed]
            lines[label] = axes.plot(*published(table, f"{prefix}{value}_{column}"), color=colour, linewidth=0.8,
                                     linestyle="--")[0]
        for role, label, colour in ROLES:
            points = sorted((sizes[against], roles[role][0]) for sizes, roles in found.items()
                            if sizes[fixed] == value and sizes[2] == 1 and role in roles)
            if points:
                lines[label] = axes.plot(*zip(*points), color=colour, linewidth=2.2 if role == "chosen" else 1.3,
                                         marker="o", markersize=2.5, linestyle=":" if role == "floor" else "-")[0]
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda time, _: f"{time:g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.set_xticks([32, 256, 512, 768, 1024])
        axes.set_title(f"{value} {names[fixed]}", fontsize=10)
        axes.set_xlabel(names[against], fontsize=9)
        axes.tick_params(labelsize=8)
        axes.grid(True, linewidth=0.4, color="#dddddd")
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    panels[0].set_ylabel("microseconds per sample", fontsize=9)
    order = [label for _, label, _ in ROLES + OLD if label in lines]
    columns = len(values)  # as wide as the panels
    figure.legend([lines[label] for label in order], order, loc="lower center", ncol=columns, fontsize=8, frameon=False)
    figure.tight_layout(rect=(0, 0.02 + 0.042 * math.ceil(len(order) / columns), 1, 1))
    figure.savefig(file, dpi=110, metadata={"Date": None} if file.suffix == ".svg" else None)
    plt.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lines")
    parser.add_argument("pytorch")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--format", choices=("svg", "png"), default="svg")
    options = parser.parse_args()
    matplotlib.rcParams.update({"svg.hashsalt": "heddle", "svg.fonttype": "none"})  # small, and the same every time
    _, found = mapping_table.load(options.lines, options.pytorch)
    draw(found, options.folder / f"time_against_rules.{options.format}", 1, (32, 512, 1024))
    draw(found, options.folder / f"time_against_dim.{options.format}", 0, (256, 512, 768, 1024))


if __name__ == "__main__":
    main()
