"""Charts as data: what plotly draws, the same numbers as a table, and a description for those who cannot see it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

#: Okabe and Ito's colours, which the colour-blind can tell apart, the pale yellow left out.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#444444"]
DASHES = ["solid", "dash", "dot", "dashdot", "longdash"]
SYMBOLS = ["circle", "square", "diamond", "triangle-up", "cross", "x", "star"]
SCALE = "Cividis"
#: A chart of more rows is aggregated; the rows go into a file beside the page.
MOST_ROWS = 5000


@dataclass
class Table:
    columns: list[str]
    rows: list[list]


@dataclass
class Chart:
    title: str
    description: str  #: what the chart shows, in a sentence or two: caption and text alternative
    traces: list[dict]
    layout: dict
    table: Table
    every_row: Table | None = None  #: where `table` is aggregated: goes into a file


@dataclass
class Section:
    title: str
    facts: list[tuple[str, str]] = field(default_factory=list)
    charts: list[Chart] = field(default_factory=list)
    lists: list[tuple[str, list[str]]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def device_text(identity: str) -> str:
    """An identity of the database, "cuda|NVIDIA H200|9.0|132 units|140 GiB|62914560 cache|232448 local", for people."""
    parts = []
    for part in identity.split("|"):
        size, _, what = part.partition(" ")
        if what in ("cache", "local") and size.isdigit():
            part = f"{int(size) / (1 << 20):.3g} MiB {what}" if int(size) >= 1 << 20 else f"{int(size) >> 10} KiB {what}"
        parts.append(part)
    return ", ".join(part for part in parts if part != "0 GiB")


def number(value) -> str:
    """Four digits that matter; a dash for what was not measured."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "–"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    return str(value) if isinstance(value, int) else f"{value:.4g}"


def line(name: str, x, y, index: int = 0, text=None, **more) -> dict:
    colour, dash = COLOURS[index % len(COLOURS)], DASHES[index % len(DASHES)]
    few = len(x) <= 60
    trace = {"type": "scatter", "mode": "lines+markers" if few else "lines", "name": name, "x": list(x), "y": list(y), "connectgaps": True,
             "line": {"color": colour, "dash": dash, "width": 2},
             "marker": {"symbol": SYMBOLS[index % len(SYMBOLS)], "size": 6, "color": colour}}
    if text is not None:
        trace["text"] = list(text)
    return {**trace, **more}


def axes(x: str, y: str, log_x: bool = False, log_y: bool = False, **more) -> dict:
    def axis(title, log):
        return {"title": {"text": title}, **({"type": "log"} if log else {})}

    return {"xaxis": axis(x, log_x), "yaxis": axis(y, log_y), **more}


def bands(x, y, count: int = 200):
    """Least, median and largest `y` of `count` runs of neighbours: the aggregate of a long series."""
    step = max(1, -(-len(x) // count))
    rows = []
    for start in range(0, len(x), step):
        part = sorted(value for value in y[start:start + step] if value is not None)
        if part:
            rows.append([x[start], part[0], part[len(part) // 2], part[-1], len(part)])
    return rows


def series(title, description, x_title, y_title, names, x, columns, index=0, log_y=False) -> Chart:
    """Lines over one x; more than MOST_ROWS rows become bands of least, median and largest."""
    full = Table([x_title, *names], [[x[i], *(column[i] for column in columns)] for i in range(len(x))])
    layout = axes(x_title, y_title, log_y=log_y)
    if len(x) <= MOST_ROWS:
        traces = [line(name, x, column, index + k) for k, (name, column) in enumerate(zip(names, columns))]
        return Chart(title, description, traces, layout, full)
    rows, traces = [], []
    for k, (name, column) in enumerate(zip(names, columns)):
        part = bands(x, column)
        rows += [[name, *each] for each in part]
        traces.append(line(f"{name}, median", [r[0] for r in part], [r[2] for r in part], index + k))
    table = Table(["series", f"{x_title} from", "least", "median", "largest", "rows"], rows)
    return Chart(title, description + f" Medians of {len(x)} rows in groups.", traces, layout, table, full)
