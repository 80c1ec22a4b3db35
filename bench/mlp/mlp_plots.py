#!/usr/bin/env python3
"""Plots of perceptrons in the shape of the published figures, from what the parts of bench/evidence/mlp_evidence left.

    bench/mlp/mlp_plots.py OUTPUT

OUTPUT has mlp_toman.json, mlp_published.json, mlp_published_pytorch.json and mlp_fann.json, or some of them. Written there:
mlp_error.svg (Toman 2011, figures 22 and 23: error against epochs, FANN's beside it), mlp_bars.svg (24 and 25: an epoch and all of
them; 26, stages, is not drawn: here all of them are in one launch, and the published ones were timed around asynchronous launches),
mlp_rows.svg (Gurgel 2014, 16 and 17: time and speed-up against rows). Says what it left out, and why.
"""
import json
import pathlib
import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

from mlp_heddle import pytorch_times  # noqa: E402
from mlp_published import all_ways  # noqa: E402

TOMAN = "784-25-15-10x10000"
ROWS = [10, 100, 1000, 10000, 32561]


def errors(toman, fann):
    """Of every epoch; `fann`: after each turn of some epochs, or nothing."""
    figure, axis = plt.subplots(figsize=(6, 4))
    axis.plot(range(1, len(toman["curve"]) + 1), toman["curve"], label="heddle, Toman's rule")
    for result in fann["results"] if fann else []:
        turns = result["fann_errors"]
        each = result["epochs"] // len(turns)
        axis.plot([each * i for i in range(len(turns) + 1)], [result["start_error"], *turns], marker=".", label=f"FANN, {result['rule']}")
    axis.axhline(0.04, color="grey", linestyle=":")
    axis.set(xlabel="epochs", ylabel="E, half the root of the mean squared error", yscale="log", title="784-25-15-10, 10000 digits")
    axis.legend()
    return figure


def bars(toman, published, beside, fann):
    """An epoch by each way, and as many of them as heddle needed."""
    epochs = toman["10000"][0]["epochs"]
    ways = {way: time for way, time in all_ways(published["networks"], beside, TOMAN).items() if time is not None}
    for result in fann["results"] if fann else []:
        ways[f"FANN, {result['rule']}"] = 1000 * result["fann_ms_per_epoch"]
    figure, axes = plt.subplots(1, 2, figsize=(11, 5), sharey=True)
    for axis, factor, label in zip(axes, (1e-3, 1e-3 * epochs), ("ms an epoch", f"ms for {epochs} epochs")):
        axis.barh(list(ways), [factor * time for time in ways.values()])
        axis.set(xlabel=label, xscale="log")
    axes[0].invert_yaxis()
    figure.suptitle(f"{TOMAN}, {toman['device']}")
    figure.tight_layout()
    return figure


def rows(published):
    found = {count: published["networks"][f"14-10-1x{count}"]["epoch"] for count in ROWS if f"14-10-1x{count}" in published["networks"]}
    figure, axes = plt.subplots(1, 2, figsize=(11, 4))
    for way in ("chosen", "gurgel", "t08", "sequential"):
        times = {count: each[way] for count, each in found.items() if each.get(way)}
        axes[0].plot(list(times), list(times.values()), marker=".", label=way)
    for above in ("sequential", "t08"):
        for below in ("gurgel", "chosen"):
            ratios = {count: each[above] / each[below] for count, each in found.items() if each.get(above) and each.get(below)}
            axes[1].plot(list(ratios), list(ratios.values()), marker=".", label=f"{above} / {below}")
    for axis, label in zip(axes, ("us an epoch", "speed-up")):
        axis.set(xlabel="rows of adult", ylabel=label, xscale="log", yscale="log")
        axis.legend()
    figure.suptitle(f"14-10-1, {published['device']}")
    return figure


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    matplotlib.rcParams.update({"svg.hashsalt": "heddle", "svg.fonttype": "none"})  # small, and the same every time
    folder = pathlib.Path(sys.argv[1])

    def read(name):
        file = folder / name
        return json.loads(file.read_text()) if file.exists() else None

    toman, published, fann = read("mlp_toman.json"), read("mlp_published.json"), read("mlp_fann.json")
    if fann and "fann_errors" not in fann["results"][0]:
        print("mlp_fann.json: of an older fann_beside, left out")
        fann = None
    beside = pytorch_times(folder / "mlp_published_pytorch.json", "epoch")
    has_bars = toman and published and TOMAN in published["networks"]
    for name, draw in {"mlp_error.svg": toman and (lambda: errors(toman, fann)),
                       "mlp_bars.svg": has_bars and (lambda: bars(toman, published, beside, fann)),
                       "mlp_rows.svg": published and (lambda: rows(published))}.items():
        if draw:
            draw().savefig(folder / name, metadata={"Date": None}, bbox_inches="tight")
        print(f"{name}: {'drawn' if draw else 'left out, its parts have not run'}")


if __name__ == "__main__":
    main()
