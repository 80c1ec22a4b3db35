"""Charts about one search: a recorded space, or the measurements of a problem."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

from heddle.errors import InputError
from heddle.reports.charts import COLOURS, MOST_ROWS, SYMBOLS, Chart, Section, Table, axes, bands, device_text, line


def importance(configurations: list[dict], costs: list) -> list[list]:
    """How much of the variance of the log time each parameter explains alone: variance between the means of its values,
    as a part of the whole. Returns rows of name, number of values, part."""
    timed = [(c, math.log(t)) for c, t in zip(configurations, costs) if t is not None and t > 0]
    if len(timed) < 2:
        return []
    mean = sum(t for _, t in timed) / len(timed)
    whole = sum((t - mean) ** 2 for _, t in timed)
    rows = []
    for name in {name: None for c, _ in timed for name in c}:
        groups = defaultdict(list)
        for configuration, cost in timed:
            groups[configuration.get(name)].append(cost)
        if len(groups) > 1 and whole > 0:
            between = sum(len(g) * (sum(g) / len(g) - mean) ** 2 for g in groups.values())
            rows.append([str(name), len(groups), between / whole])
    return sorted(rows, key=lambda row: -row[2])


def search_charts(problem: str, configurations, costs, statuses, seconds, unit: str) -> list[Chart]:
    """`costs`: a time in `unit` or None for each attempt, in the order of the search; `seconds`: what each took."""
    def title(text):
        return f"{problem}: {text}" if problem else text[:1].upper() + text[1:]

    steps, best, clock = [], None, 0.0
    for index, (cost, taken) in enumerate(zip(costs, seconds), 1):
        clock += taken or 0.0
        if cost is not None and (best is None or cost < best):
            best = cost
            steps.append([index, clock, best])
    if not steps:
        return []
    found = steps[-1][0]
    if found < len(costs):
        steps.append([len(costs), clock, best])
    numbers = Table(["evaluation", "seconds", f"best so far, {unit}"], steps)
    charts = []
    for x, name in ((0, "evaluations"), (1, "seconds of compiling and measuring")):
        trace = line("best so far", [s[x] for s in steps], [s[2] for s in steps], 0)
        trace["line"]["shape"] = "hv"
        charts.append(Chart(title(f"best so far against {name.split(' of')[0]}"),
                            f"The fastest time known, down to {best:.4g} {unit} after {found} of {len(costs)} "
                            f"evaluations.", [trace], axes(name, f"best so far, {unit}", log_x=x == 0, log_y=True), numbers))
    counts = Counter(statuses)
    kinds = [kind for kind, _ in counts.most_common()]
    text = [" ".join(f"{k}={v}" for k, v in c.items()) for c in configurations]
    every = Table(["evaluation", "status", unit, "configuration"],
                  [[i, s, c, t] for i, (s, c, t) in enumerate(zip(statuses, costs, text), 1)])
    traces, aggregate = [], []
    worst = max(c for c in costs if c is not None)
    for k, kind in enumerate(kinds):
        at = [i for i, s in enumerate(statuses) if s == kind]
        timed = [i for i in at if costs[i] is not None]
        colour, symbol = COLOURS[k % len(COLOURS)], SYMBOLS[k % len(SYMBOLS)]
        if len(costs) > MOST_ROWS and timed:
            part = bands([i + 1 for i in timed], [costs[i] for i in timed])
            aggregate += [[kind, *row] for row in part]
            traces.append(line(f"{kind}, median", [r[0] for r in part], [r[2] for r in part], k))
            traces.append(line(f"{kind}, least", [r[0] for r in part], [r[1] for r in part], k, opacity=0.5))
        elif len(costs) <= MOST_ROWS:
            y = [costs[i] if costs[i] is not None else worst * 1.3 for i in at]
            traces.append({"type": "scatter", "mode": "markers", "name": f"{kind} ({len(at)})", "x": [i + 1 for i in at],
                           "y": y, "text": [text[i] for i in at],
                           "hovertemplate": "%{text}<br>%{y:.4g}<extra>" + kind + "</extra>",
                           "marker": {"color": colour, "symbol": symbol, "size": 6, "opacity": 0.75}})
    description = ", ".join(f"{count} {kind}" for kind, count in counts.most_common())
    layout = axes("evaluation", unit, log_y=True)
    if len(costs) > MOST_ROWS:
        table = Table(["status", "evaluation from", "least", "median", "largest", "rows"], aggregate)
        charts.append(Chart(title("configurations by status"), f"Of {len(costs)} evaluations: {description}. Medians and "
                            "least times of groups of neighbours.", traces, layout, table, every))
    else:
        charts.append(Chart(title("every configuration"), f"Of {len(costs)} evaluations: {description}. Those without a "
                            "time are drawn above the others.", traces, layout, every))
    matter = importance(configurations, costs)
    if matter:
        shown = matter[:20][::-1]
        trace = {"type": "bar", "orientation": "h", "x": [100 * row[2] for row in shown], "y": [row[0] for row in shown],
                 "marker": {"color": COLOURS[0]}, "hovertemplate": "%{y}: %{x:.3g} %<extra></extra>"}
        charts.append(Chart(title("what each parameter matters"), "How much of the variance of the log time a parameter "
                            f"explains by itself; {matter[0][0]} matters most.", [trace],
                            {**axes("variance explained, %", ""), "height": 120 + 30 * len(shown)},
                            Table(["parameter", "values", "variance explained, %"],
                                  [[n, v, 100 * p] for n, v, p in matter])))
    return charts


_MILLISECONDS = {"ms": 1.0, "s": 1e3, "us": 1e-3, "ns": 1e-6}
_UNITS = {"milliseconds": "ms", "miliseconds": "ms", "ms": "ms", "seconds": "s", "s": "s", "microseconds": "us", "us": "us",
          "nanoseconds": "ns", "ns": "ns"}


def space_section(source) -> Section:
    document = source.content
    try:
        configurations, costs, statuses, seconds = (_t1 if "cache" in document else _t4)(document)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(f"'{source.name}': found a damaged recorded space: {error!r}") from None
    metadata = document.get("metadata") or {}
    facts = [("file", source.name), ("configurations", str(len(costs)))]
    facts += [(name, device_text(str(metadata[name]))) for name in ("device", "kernel", "problem") if name in metadata]
    section = Section(f"A search: {metadata.get('kernel') or document.get('kernel_name') or source.name}", facts)
    unit = "ms"
    if min((cost for cost in costs if cost is not None), default=1.0) < 0.1:  # as the times of heddle's own families
        unit, costs = "µs", [None if cost is None else 1e3 * cost for cost in costs]
    section.charts = search_charts("", configurations, costs, statuses, seconds, unit)
    if not section.charts:
        section.notes.append("No configuration has a time.")
    return section


def _unit(word) -> float:
    return _MILLISECONDS[_UNITS.get(str(word or "ms"), "ms")]


def _t4(document):
    configurations, costs, statuses, seconds = [], [], [], []
    common = (document.get("metadata") or {}).get("timeunit")
    for result in document["results"]:
        configurations.append(dict(result["configuration"]))
        status = str(result.get("status") or result.get("invalidity"))
        cost = None
        if result.get("invalidity") == "correct":
            for each in result.get("measurements", []):
                if each["name"] == "time":
                    cost = float(each["value"]) * _unit(each.get("unit") or common)
        statuses.append(status)
        costs.append(cost)
        times = result.get("times") or {}
        spent = float(times.get("compilation") or 0.0) + sum(map(float, times.get("runtimes") or []))
        seconds.append(1e-3 * spent)
    return configurations, costs, statuses, seconds


def _t1(document):
    names = document["tune_params_keys"]
    configurations, costs, statuses, seconds = [], [], [], []
    for record in document["cache"].values():
        configurations.append({name: record[name] for name in names if name in record})
        time = record.get("time")
        timed = isinstance(time, (int, float)) and time < 1e20
        costs.append(float(time) if timed else None)
        statuses.append("correct" if timed else str(time))
        seconds.append(1e-3 * (float(record.get("compile_time") or 0.0) + (sum(record.get("times") or []) if timed else 0)))
    return configurations, costs, statuses, seconds
