#!/usr/bin/env python3
"""Writes tables (Markdown) and plots (SVG) of fuzzy numbers in the shape of the published ones, from what the parts
fuzzy... of gpu_evidence left in a folder so far. What is missing is named, and left out.

    bench/evidence/fuzzy_tables.py FOLDER
    bench/evidence/fuzzy_tables.py FOLDER --print NAME     prints one of the tables, writes nothing

From fuzzy_table_KERNEL_ENCODING.csv, or fuzzy_table.csv where there are none: fuzzy_table.md (every kernel untuned, with one
fixed configuration and tuned, beside a copy or the pipe), fuzzy_series.md and .svg (rate of the series c = a c + b against
cuts). From fuzzy_sort.csv and sort_beside.csv: fuzzy_sort.md and .svg (time of a sort by key against cuts, beside CUB and
Thrust). From all of these and fuzzy_containment.txt: fuzzy_goals.md, what had to be reached and what was. Plots need
matplotlib.
"""
import csv
import math
import pathlib
import re
import sys

ENCODINGS = [("lu", "lower-upper", "#1b4f9c"), ("mr", "midpoint-radius", "#b5382a")]
WAYS = ("untuned", "fixed", "tuned")
TYPES = {"32": "float", "64": "double"}
# As written in the files, as told, column of sort_beside.csv.
LAYOUTS = [("1", "numbers", "gather"), ("2", "cuts", "gather_cuts")]
KERNELS = ("series", "map", "sum", "dot", "matvec", "sort")
# What had to be reached, in per cent of the limit, and the cuts for which it had to be; None: all.
GOALS = {"map": (88, "4"), "dot": (80, "4"), "crisp matvec": (85, "4"), "fuzzy matvec": (85, "4"), "series": (80, None)}
SORT_GOAL = 85  # per cent of the speed of CUB's pairs and a plain gather
MISSING = "not measured"


def read(path, columns=()):
    """Lines of comments without their '#', and the rows, which need to have some columns."""
    with open(path, encoding="utf-8", newline="") as file:
        lines = file.read().splitlines()
    notes = [line[1:].strip() for line in lines if line.startswith("#")]
    reader = csv.DictReader(line for line in lines if line and not line.startswith("#"))
    missing = [name for name in columns if name not in (reader.fieldnames or [])]
    if missing:
        sys.exit(f"{path}: found no column '{missing[0]}': an older program made it; run the parts fuzzy... of gpu_evidence again")
    return notes, list(reader)


def read_tables(folder):
    """Notes, rows and names of missing files of all families. What a note says of one family begins with its name."""
    columns = ["problem", "limit_us", *(f"{way}_us" for way in WAYS)]
    files = [(f"{kernel} {encoding}: ", folder / f"fuzzy_table_{kernel}_{encoding}.csv")
             for kernel in KERNELS for encoding, _, _ in ENCODINGS]
    found = [(name, file) for name, file in files if file.exists()]
    missing = [file.name for _, file in files if not file.exists()]
    if not found and (folder / "fuzzy_table.csv").exists():
        found, missing = [("", folder / "fuzzy_table.csv")], []
    notes, rows = [], []
    for name, file in found:
        own, some = read(file, columns)
        # The means of a run are made anew from all rows.
        notes += [f"{name}{note}" if note.startswith("copy") else note for note in own
                  if "geometric mean" not in note and not re.fullmatch(r"[0-9.]+ s", note)]
        rows += some
    return list(dict.fromkeys(notes)), rows, missing


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def origin(notes):
    """With what it was measured, as a list."""
    return "".join(f"- {note}\n" for note in notes)


def percent(row, way):
    return 100.0 * float(row["limit_us"]) / float(row[f"{way}_us"])


def table(notes, rows):
    text = ["# Kernels of fuzzy numbers", "",
            "Microseconds of a launch. Limit: the time that a plain copy of the same bytes takes, or the arithmetic pipe",
            "for the same rounded operations, whichever is longer, both measured in the same run; per cent: limit / time.",
            "Sorts have no such limit: see fuzzy_sort.md. Untuned: the default. Fixed: the single configuration with the",
            "least geometric mean over all problems of its family (one family for each kernel and encoding), of those",
            "tried that can run for all of them. Tuned: the fastest of those tried for the problem. The three were timed",
            "in turn after the search.", "",
            origin(notes)]
    text += ["| kernel | encoding | type | layout | cuts | " + " | ".join(WAYS) + " | limit | "
             + " | ".join(f"{way}, %" for way in WAYS) + " | tried of |", "|" + "---|" * 13]
    layouts = {number: name for number, name, _ in LAYOUTS}
    for row in rows:
        cells = [row["kernel"], row["encoding"], TYPES[row["bits"]], layouts[row["layout"]], row["cuts"]]
        cells += [f"{float(row[way + '_us']):.1f}" if row[way + "_us"] else "–" for way in WAYS]
        if row["kernel"] == "sort":
            cells += ["–"] * 4
        else:
            cells.append(f"{float(row['limit_us']):.1f} ({row['limit']})")
            cells += [f"{percent(row, way):.1f}" if row[way + "_us"] else "–" for way in WAYS]
        text.append("| " + " | ".join(cells) + f" | {row['tried']} of {row['valid']} |")
    text += ["", "## Against tuned", "",
             "Geometric means over the problems of the time divided by the tuned time, and the worst.", "",
             "| kernels | problems | untuned | worst | one fixed configuration | worst |", "|---|---|---|---|---|---|"]
    kernels = list(dict.fromkeys(row["kernel"] for row in rows))
    for name in kernels + ["all"]:
        some = [row for row in rows if name in ("all", row["kernel"])]
        untuned = [float(row["untuned_us"]) / float(row["tuned_us"]) for row in some]
        fixed = [float(row["fixed_us"]) / float(row["tuned_us"]) for row in some if row["fixed_us"]]
        told = f"{geometric_mean(fixed):.3f} | {max(fixed):.2f}" if len(fixed) == len(some) else "– | –"
        text.append(f"| {name} | {len(some)} | {geometric_mean(untuned):.3f} | {max(untuned):.2f} | {told} |")
    return "\n".join(text) + "\n"


def steps_per_second(row):
    """10^9 steps c = a c + b of a cut in a second."""
    sizes = dict(size.split("=") for size in row["problem"].split())
    return int(sizes["numbers"]) * int(sizes["terms"]) * int(row["cuts"]) / float(row["tuned_us"]) * 1e-3


def series_by_cuts(rows):
    """Rows of the series by type, encoding and number of cuts."""
    return {(row["bits"], row["encoding"], int(row["cuts"])): row for row in rows if row["kernel"] == "series"}


def published_gain(cuts):
    """Of midpoint-radius over lower-upper, from the published counts of operations."""
    return 16.0 * cuts / (7.0 + 7.0 * cuts)


def series(notes, rows):
    found = series_by_cuts(rows)
    text = ["# The series c = a c + b against cuts", "",
            "Tuned; 10^9 steps of a cut in a second, and in brackets per cent of the rate that the arithmetic pipe allows.",
            "Gain: the rate of midpoint-radius over that of lower-upper. The published gain follows 16x/(7+7x), from counts",
            "of 16x and 7+7x operations a step. Here a step has 4x operations in lower-upper form, whose bounds learn the",
            "signs of `a` once, and 3+4x in midpoint-radius form, so that their ratio is 4x/(3+4x).", "", origin(notes),
            "| type | cuts | lu | mr | gain | 4x/(3+4x) | 16x/(7+7x), published |", "|---|---|---|---|---|---|---|"]
    for bits, cuts in sorted({(bits, cuts) for bits, _, cuts in found}):
        pair = [found.get((bits, encoding, cuts)) for encoding, _, _ in ENCODINGS]
        if None in pair:
            continue
        rates = [steps_per_second(row) for row in pair]
        cells = [f"{rate:.0f} ({percent(row, 'tuned'):.0f} %)" for rate, row in zip(rates, pair)]
        text.append(f"| {TYPES[bits]} | {cuts} | {cells[0]} | {cells[1]} | {rates[1] / rates[0]:.2f} | "
                    f"{4 * cuts / (3 + 4 * cuts):.2f} | {published_gain(cuts):.2f} |")
    return "\n".join(text) + "\n"


def sort_ratios(own_rows, beside_rows):
    """Of every sort that has both: encoding, bits, cuts, layout, CUB's time with a gather over ours, and Thrust's over ours;
    None in the layout that Thrust's structures do not have."""
    own = {(row["encoding"], row["bits"], row["cuts"], row["layout"]): float(row["microseconds"]) for row in own_rows}
    for row in beside_rows:
        for layout, name, gather in LAYOUTS:
            time = own.get((row["encoding"], row["bits"], row["cuts"], layout))
            if time is not None:
                yield (row["encoding"], row["bits"], row["cuts"], name, (float(row["pairs"]) + float(row[gather])) / time,
                       float(row["thrust"]) / time if layout == "1" else None)


def allocates(beside_rows):
    """Whether Thrust got memory in every call, as it did until sort_beside measured it with positions, too."""
    return not any(row.get("thrust_positions") for row in beside_rows)


def sort(notes, own_rows, beside_rows):
    own = {(row["encoding"], row["bits"], row["cuts"], row["layout"]): float(row["microseconds"]) for row in own_rows}
    text = ["# Sorts by key", "",
            "Microseconds of the fastest of several sorts, heddle's untuned. CUB: its sort of (key, position) pairs and a",
            "plain gather of the numbers by the same positions. Thrust: `thrust::sort_by_key` over structures, whose",
            "components lie next to each other, of more than 100 bytes by its merge sort. lu / mr: heddle's time in",
            "lower-upper form over that in midpoint-radius form; the published ratio follows the bytes of the numbers,",
            "2x/(1+x)."]
    placed = not allocates(beside_rows)
    if placed:
        text += ["With positions: each structure takes its position along, so that the result has them, as heddle's has."]
    else:
        text += ["Thrust allocates memory in every call here."]
    columns = ["encoding", "type", "cuts", "layout", "heddle", "CUB and gather", "speed of it", "Thrust", "times as fast",
               *(["with positions", "times as fast as that"] if placed else []), "lu / mr", "2x/(1+x)"]
    text += ["", origin(notes), f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    shares, against = [], []
    for row in beside_rows:
        for layout, name, gather in LAYOUTS:
            cuts = int(row["cuts"])
            time, lu, mr = (own.get((encoding, row["bits"], row["cuts"], layout))
                            for encoding in (row["encoding"], "lu", "mr"))
            if time is None:
                continue
            beside, thrust = float(row["pairs"]) + float(row[gather]), float(row["thrust"])
            shares.append(beside / time)
            cells = " | ".join(["–"] * (4 if placed else 2))
            if layout == "1":
                against.append(thrust / time)
                others = [thrust, *([float(row["thrust_positions"])] if placed else [])]
                cells = " | ".join(f"{other:.0f} | {other / time:.2f}" for other in others)
            ratio = f"{lu / mr:.2f}" if lu and mr and row["encoding"] == "lu" else "–"
            text.append(f"| {row['encoding']} | {TYPES[row['bits']]} | {cuts} | {name} | {time:.0f} | {beside:.0f} | "
                        f"{100 * beside / time:.0f} % | {cells} | {ratio} | {2 * cuts / (1 + cuts):.2f} |")
    if shares:
        text += ["", f"Lowest share of the speed of CUB and a gather: {100 * min(shares):.0f} %."]
    if against:
        text.append(f"Against Thrust: {min(against):.2f} to {max(against):.0f} times as fast.")
    return "\n".join(text) + "\n"


def goals(rows, own_rows, beside_rows, containment):
    """Every bar, with the least that was measured beside it and where that was."""
    lines = []

    def add(what, bar, measured, reached):
        lines.append(f"| {what} | {bar} | {measured} | {'–' if reached is None else 'yes' if reached else '**no**'} |")

    for kernel, (least, cuts) in GOALS.items():
        for bits, kind in sorted(TYPES.items()):
            for encoding, _, _ in ENCODINGS:
                some = [row for row in rows if (row["kernel"], row["bits"], row["encoding"]) == (kernel, bits, encoding)
                        and cuts in (None, row["cuts"])]
                what = f"{kernel}, {encoding}, {kind}, {'1 to 24' if cuts is None else cuts} cuts"
                if not some:
                    add(what, f"{least} %", MISSING, None)
                    continue
                worst = min(some, key=lambda row: percent(row, "tuned"))
                layout = next(name for number, name, _ in LAYOUTS if number == worst["layout"])
                where = f"{worst['cuts']} cuts, layout {layout}, {worst['limit']}"
                untuned = min(percent(row, "untuned") for row in some)
                add(what, f"{least} %", f"{percent(worst, 'tuned'):.1f} % ({where}); untuned {untuned:.1f} %",
                    percent(worst, "tuned") >= least)
    found = series_by_cuts(rows)
    for bits, encoding in sorted({(bits, encoding) for bits, encoding, _ in found}):
        rates = [(cuts, steps_per_second(row)) for (*of, cuts), row in sorted(found.items()) if of == [bits, encoding]]
        falls = [(after / before, f"from {a} to {b}") for (a, before), (b, after) in zip(rates, rates[1:])]
        if falls:
            add(f"series, {encoding}, {TYPES[bits]}: rate from one count of cuts to the next", "no cliff",
                f"at least {100 * min(falls)[0]:.0f} % ({min(falls)[1]} cuts)", None)
    ratios = list(sort_ratios(own_rows, beside_rows))
    for bits, kind in sorted(TYPES.items()):
        for encoding, _, _ in ENCODINGS:
            some = [ratio for ratio in ratios if ratio[:2] == (encoding, bits)]
            what = f"sort, {encoding}, {kind}, 1 to 24 cuts"
            if not some:
                add(f"{what}: speed over CUB's pairs and a gather", f"{SORT_GOAL} %", MISSING, None)
                add(f"{what}: speed over Thrust", "1", MISSING, None)
                continue
            worst = min(some, key=lambda ratio: ratio[4])
            add(f"{what}: speed over CUB's pairs and a gather", f"{SORT_GOAL} %",
                f"{100 * worst[4]:.1f} % ({worst[2]} cuts, layout {worst[3]})", 100 * worst[4] >= SORT_GOAL)
            beside = [(ratio[5], int(ratio[2])) for ratio in some if ratio[5] is not None]
            add(f"{what}: speed over Thrust", "1", f"{min(beside)[0]:.2f} (cuts: {min(beside)[1]}) to {max(beside)[0]:.1f}"
                + (", which allocates in every call" if allocates(beside_rows) else ""), min(beside)[0] >= 1)
    told = re.search(r"^(\d+) violations.*", containment, re.MULTILINE)
    samples = re.search(r"^(\d+) samples.*", containment, re.MULTILINE)
    add("containment, 10^8 random inputs of each kind", "0 violations",
        f"{told[1]} violations in {samples[1]} samples" if told and samples else MISSING,
        told and samples and int(told[1]) == 0 and int(samples[1]) >= 10**8)
    for way in ("untuned", "fixed"):
        ratios = [float(row[f"{way}_us"]) / float(row["tuned_us"]) for row in rows if row[f"{way}_us"]]
        few = sum(int(row["tried"]) < 8 for row in rows)
        add(f"{'untuned' if way == 'untuned' else 'one fixed configuration'} over tuned, geometric mean", "reported",
            f"{geometric_mean(ratios):.3f} over {len(ratios)} of {len(rows)} problems; fewer than 8 configurations were tried "
            f"for {few}" if ratios else MISSING, None)
    return "\n".join(["# What had to be reached, and what was", "",
                      "The least over layouts, and over cuts where several are named, of the tuned kernels. Per cent of the limit: the",
                      "time of a plain copy of the same bytes or of the arithmetic pipe, whichever binds. Matrices have 8192 columns; a",
                      "real one has 8192 rows where vectors have 4 cuts, all others 2048. Each family may be of another call: its file says",
                      "of which commit.", "",
                      "| what | bar | measured | reached |", "|---|---|---|---|", *lines]) + "\n"


def prepared():
    """matplotlib.pyplot, for small files that are the same every time."""
    import matplotlib
    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.hashsalt": "heddle", "svg.fonttype": "none"})
    import matplotlib.pyplot as plt
    return plt


def finish(plt, figure, panels, file):
    for axes in panels.flat:
        axes.set_xlabel("cuts", fontsize=9)
        axes.tick_params(labelsize=8)
        axes.grid(True, linewidth=0.4, color="#dddddd")
        axes.set_ylim(bottom=0)
        axes.legend(fontsize=7, frameon=False)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    figure.tight_layout()
    figure.savefig(file, metadata={"Date": None})
    plt.close(figure)


def draw_series(rows, file):
    """A line of panels for each type: the rate of both encodings against cuts, and the gain of midpoint-radius."""
    plt = prepared()
    found = series_by_cuts(rows)
    kinds = sorted({bits for bits, _, _ in found})
    figure, panels = plt.subplots(len(kinds), 2, figsize=(8.4, 3.1 * len(kinds)), squeeze=False)
    for (rates, gains), bits in zip(panels, kinds):
        by_encoding = {}
        for short, label, colour in ENCODINGS:
            points = {cuts: steps_per_second(row) for (*of, cuts), row in sorted(found.items()) if of == [bits, short]}
            by_encoding[short] = points
            rates.plot(list(points), list(points.values()), color=colour, marker="o", markersize=3, label=label)
        rates.set_title(f"c = a c + b, {TYPES[bits]}", fontsize=10)
        rates.set_ylabel("10^9 steps of a cut in a second", fontsize=9)
        cuts = sorted(set(by_encoding["lu"]) & set(by_encoding["mr"]))
        gains.plot(cuts, [by_encoding["mr"][x] / by_encoding["lu"][x] for x in cuts], color="#1b4f9c", marker="o",
                   markersize=3, label="measured")
        gains.plot(cuts, [4 * x / (3 + 4 * x) for x in cuts], color="#777777", linestyle=":",
                   label="4x/(3+4x), operations here")
        gains.plot(cuts, [published_gain(x) for x in cuts], color="#dd8452", linestyle="--",
                   label="16x/(7+7x), as published")
        gains.set_title(f"gain of midpoint-radius, {TYPES[bits]}", fontsize=10)
    finish(plt, figure, panels, file)


def draw_sort(own_rows, beside_rows, file):
    """A line of panels for each type: time of a sort of numbers whose components lie together, and lower-upper over
    midpoint-radius."""
    plt = prepared()
    kinds = sorted({row["bits"] for row in own_rows})
    figure, panels = plt.subplots(len(kinds), 2, figsize=(8.4, 3.1 * len(kinds)), squeeze=False)
    for (times, ratios), bits in zip(panels, kinds):
        own = {}
        for short, label, colour in ENCODINGS:
            own[short] = {int(row["cuts"]): float(row["microseconds"]) for row in own_rows
                          if (row["bits"], row["encoding"], row["layout"]) == (bits, short, "1")}
            beside = {int(row["cuts"]): float(row["pairs"]) + float(row["gather"]) for row in beside_rows
                      if (row["bits"], row["encoding"]) == (bits, short)}
            times.plot(list(own[short]), list(own[short].values()), color=colour, marker="o", markersize=3, label=label)
            times.plot(list(beside), list(beside.values()), color=colour, linestyle="--",
                       label=f"{label}, CUB and a gather")
        times.set_title(f"sort by key, {TYPES[bits]}", fontsize=10)
        times.set_ylabel("microseconds", fontsize=9)
        cuts = sorted(set(own["lu"]) & set(own["mr"]))
        ratios.plot(cuts, [own["lu"][x] / own["mr"][x] for x in cuts], color="#1b4f9c", marker="o", markersize=3,
                    label="measured")
        ratios.plot(cuts, [2 * x / (1 + x) for x in cuts], color="#dd8452", linestyle="--",
                    label="2x/(1+x), bytes of the numbers")
        ratios.set_title(f"time of lower-upper over midpoint-radius, {TYPES[bits]}", fontsize=10)
    finish(plt, figure, panels, file)


def sorts_in(folder):
    """Notes and rows of heddle's sorts and of those beside them, and names of missing files."""
    files = [folder / name for name in ("fuzzy_sort.csv", "sort_beside.csv")]
    missing = [file.name for file in files if not file.exists()]
    if missing:
        return [], [], [], missing
    (own_notes, own_rows), (beside_notes, beside_rows) = map(read, files)
    return list(dict.fromkeys(own_notes + beside_notes)), own_rows, beside_rows, []


def markdown(folder):
    """Texts of tables by name, and names of missing files."""
    notes, rows, missing = read_tables(folder)
    sort_notes, own_rows, beside_rows, missing_sorts = sorts_in(folder)
    containment = folder / "fuzzy_containment.txt"
    texts = {}
    if rows:
        texts["fuzzy_table.md"] = table(notes, rows)
    if series_by_cuts(rows):
        texts["fuzzy_series.md"] = series(notes, rows)
    if own_rows:
        texts["fuzzy_sort.md"] = sort(sort_notes, own_rows, beside_rows)
    texts["fuzzy_goals.md"] = goals(rows, own_rows, beside_rows,
                                    containment.read_text(encoding="utf-8") if containment.exists() else "")
    return texts, missing + missing_sorts + ([] if containment.exists() else [containment.name])


def main():
    if len(sys.argv) != 2 and (len(sys.argv) != 4 or sys.argv[2] != "--print"):
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    texts, missing = markdown(folder)
    if len(sys.argv) == 4:
        sys.stdout.write(texts.get(sys.argv[3], ""))
        return 0
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    if missing:
        print("missing: " + ", ".join(missing))
    _, rows, _ = read_tables(folder)
    if series_by_cuts(rows):
        draw_series(rows, folder / "fuzzy_series.svg")
    _, own_rows, beside_rows, _ = sorts_in(folder)
    if own_rows:
        draw_sort(own_rows, beside_rows, folder / "fuzzy_sort.svg")
    return 0


if __name__ == "__main__":
    main()
