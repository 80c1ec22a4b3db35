#!/usr/bin/env python3
"""Prints as Markdown, and draws, how much wider cuts become than at 200 bits: what fuzzy_width measured.

    bench/fuzzy/width_table.py fuzzy_width.csv [PLOT.svg]

In per cent of the exact width, after 1, 100 and 1000 steps: the median and, in brackets, the worst of all chains. The
plot, which has the medians of all lengths, needs matplotlib.
"""
import csv
import sys

CHAINS = ["a + b", "a * b", "a / b", "c = a * c + b", "+ - * / in turns", "log(exp(a))"]
ENCODINGS = [("lu", "lower-upper", "#1b4f9c"), ("mr", "midpoint-radius", "#b5382a")]


def percent(text):
    value = 100.0 * float(text)
    if value == float("inf"):
        return "∞"
    if value < 5e-7:
        return "0"
    return f"{value:.1e}" if value < 0.001 else f"{value:.2g}" if value < 99.5 else f"{value:.0f}"


def radius(bits):
    return f"2^{bits}"


STEPS = ("1", "100", "1000")


def table(rows):
    """A line for each type, radius and operation: median (worst) of both encodings after some steps."""
    lines = {}
    for row in rows:
        if row["steps"] in STEPS:
            cells = lines.setdefault((row["type"], row["operation"], row["radius_bits"]), {})
            for short, _, _ in ENCODINGS:
                median, worst = row[f"{short}_median"], row[f"{short}_worst"]
                cells[short, row["steps"]] = "–" if median == "nan" else f"{percent(median)} ({percent(worst)})"
    columns = [(short, steps) for short, _, _ in ENCODINGS for steps in STEPS]
    text = ["| type | operation | radius | " + " | ".join(f"{short}, {steps}" for short, steps in columns) + " |",
            "|" + "---|" * (3 + len(columns))]
    for (kind, operation, bits), cells in sorted(lines.items(), key=lambda line: line[0][0], reverse=True):
        text.append(f"| {kind} | {operation} | {radius(bits)} | " +
                    " | ".join(cells.get(column, "") for column in columns) + " |")
    return "\n".join(text)


def draw(rows, file):
    import matplotlib
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.fonttype"] = "none"
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(2, len(CHAINS), figsize=(2.6 * len(CHAINS), 6.2), sharex=True, sharey="row")
    styles = {"-40": ":", "-18": "-", "-10": "--", "-5": "-."}
    for line, kind in zip(panels, ("float", "double")):
        for axes, chain in zip(line, CHAINS):
            for short, label, colour in ENCODINGS:
                for bits, style in styles.items():
                    points = [(int(row["steps"]), float(row[f"{short}_median"])) for row in rows
                              if row["type"] == kind and row["operation"] == chain and row["radius_bits"] == bits]
                    points = [(steps, 1.0 + excess) for steps, excess in points if excess == excess]
                    if points:
                        axes.plot(*zip(*points), color=colour, linestyle=style, linewidth=1.4,
                                  label=f"{label}, radius {radius(bits)}")
            axes.set_xscale("log")
            axes.set_title(f"{chain}, {kind}", fontsize=9)
            axes.grid(alpha=0.3)
        line[0].set_ylabel("width / width at 200 bits, median")
    for axes in panels[-1]:
        axes.set_xlabel("steps")
    handles = {}
    for axes in panels.flat:
        for handle, label in zip(*axes.get_legend_handles_labels()):
            handles.setdefault(label, handle)
    figure.legend(handles.values(), handles.keys(), loc="lower center", ncol=4, fontsize=8, frameon=False)
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    figure.savefig(file)


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    print(table(rows))
    if len(sys.argv) == 3:
        draw(rows, sys.argv[2])


if __name__ == "__main__":
    main()
