#!/usr/bin/env python3
"""Prints as Markdown, and draws, how much wider cuts become than at 200 bits: what fuzzy_width measured.

    bench/fuzzy/width_table.py fuzzy_width.csv [PLOT.svg]

The plot needs matplotlib.
"""
import csv
import sys

CHAINS = ["a + b", "a * b", "a / b", "c = a * c + b", "+ - * / in turns", "log(exp(a))"]
ENCODINGS = [("lu", "lower-upper", "#1b4f9c"), ("mr", "midpoint-radius", "#b5382a")]


def percent(text):
    value = 100.0 * float(text)
    if value == float("inf"):
        return "∞"
    return "0" if value < 5e-7 else f"{value:.1e}" if value < 0.001 else f"{value:.2g}" if value < 100 else f"{value:.0f}"


def radius(bits):
    return f"2^{bits}"


def table(rows):
    """A line for each operation and type, columns for radii and lengths: median / worst of both encodings."""
    lines = ["| type | operation | radius | steps | lu, median | lu, worst | mr, median | mr, worst |",
             "|---|---|---|---|---|---|---|---|"]
    for row in rows:
        if int(row["steps"]) not in (1, 100, 1000) or row["lu_median"] == "nan":
            continue
        cells = [row["type"], row["operation"], radius(row["radius_bits"]), row["steps"]]
        cells += [percent(row[f"{short}_{which}"]) for short, _, _ in ENCODINGS for which in ("median", "worst")]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def draw(rows, file):
    import matplotlib
    matplotlib.use("Agg")
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
