"""Sections about tuned devices: a profile database, and the documents of `tune` and `profiles regret`."""

from __future__ import annotations

import math

import pandas as pd

from heddle import frames
from heddle.reports.charts import COLOURS, MOST_ROWS, SCALE, SYMBOLS, Chart, Section, Table, axes, device_text, line
from heddle.reports.search import search_charts

_MOST_FACETS = 6
_FEWEST_OF_FACET = 6
_MOST_NAMED_BARS = 12
_MOST_SEARCHES = 3
_STALE = "stale"


def scheme_of(configuration: str) -> str:
    """The parameter that names the kind of mapping."""
    values = frames.parameters(configuration)
    for name in ("scheme", "coarsening", "kernel"):
        if name in values:
            return values[name]
    return next(iter(values.values()), "only one")


def _groups(table: pd.DataFrame, names: list[str]):
    """Values of the columns as a tuple, and the rows that have them."""
    return ((value if isinstance(value, tuple) else (value,), part.index) for value, part in
            table.groupby(names, dropna=False))


def _facets(table: pd.DataFrame, others: list[str]) -> list[tuple[str, pd.Index]]:
    """Groups with the same values of `others`, each with its name; small ones become one group."""
    if not others:
        return [("", table.index)]
    groups = sorted(_groups(table, others), key=lambda each: -len(each[1]))
    large = [each for each in groups[:_MOST_FACETS] if len(each[1]) >= _FEWEST_OF_FACET]
    named = [(", ".join(f"{name} = {int(v) if v == v else 'none'}" for name, v in zip(others, value)), index)
             for value, index in sorted(large, key=lambda each: [v if v == v else -1 for v in each[0]])]
    rest = groups[len(large):]
    if rest:
        named.append((f"{'other values of ' if named else 'all values of '}{', '.join(others)}", rest[0][1].append([i for _, i in rest[1:]])))
    return named


def _grid(rows: pd.DataFrame) -> list[Chart]:
    """The chosen scheme and its time over the two sizes with the most values, a chart for each value of the others."""
    table = pd.DataFrame([frames.sizes(problem) for problem in rows["problem"]], index=rows.index)
    axes_by_values = sorted(table.columns, key=lambda name: -table[name].nunique())
    x = axes_by_values[0]
    y = axes_by_values[1] if len(axes_by_values) > 1 and table[axes_by_values[1]].nunique() > 1 else None
    others = [name for name in axes_by_values[2:] if table[name].nunique(dropna=False) > 1]
    facets = _facets(table, others)
    schemes = sorted({scheme_of(each) for each in rows["configuration"]})
    logs = [math.log10(value) for value in rows["microseconds"]]
    low, high = min(logs), max(logs)
    charts = []
    for where, index in facets:
        part, at = rows.loc[index], table.loc[index]
        traces = []
        for scheme in schemes:
            of = part[[scheme_of(c) == scheme for c in part["configuration"]]]
            if of.empty:
                continue
            sizes = at.loc[of.index]
            marker = {"symbol": SYMBOLS[schemes.index(scheme) % len(SYMBOLS)], "size": 15,
                      "color": [math.log10(v) for v in of["microseconds"]], "coloraxis": "coloraxis",
                      "line": {"width": 1, "color": "#ffffff"}}
            traces.append({"type": "scatter", "mode": "markers", "name": scheme, "marker": marker,
                           "x": sizes[x].tolist(), "y": sizes[y].tolist() if y else of["microseconds"].tolist(),
                           "text": [f"{p}<br>{t:.4g} µs<br>{c}" for p, t, c in zip(of["problem"], of["microseconds"], of["configuration"])],
                           "hovertemplate": "%{text}<extra></extra>"})
        ticks = [low + (high - low) * i / 3 for i in range(4)]
        layout = axes(x, y or "µs", True, True, showlegend=True, coloraxis={
            "colorscale": SCALE, "cmin": low, "cmax": high if high > low else low + 1e-9,
            "colorbar": {"title": {"text": "µs"}, "tickvals": ticks, "ticktext": [f"{10 ** t:.2g}" for t in ticks],
                         "thickness": 12}})
        for axis, name in (("xaxis", x), *((("yaxis", y),) if y else ())):
            values = sorted(at[name].dropna().unique())
            if len(values) <= 8 and values[0] > 0 and all(b >= 1.5 * a for a, b in zip(values, values[1:])):
                layout[axis].update(tickvals=values, ticktext=[f"{int(v)}" for v in values])
        numbers = Table(["problem", "scheme", "microseconds", "spread", "configuration"],
                        [[p, scheme_of(c), t, s, c] for p, t, s, c in
                         zip(part["problem"], part["microseconds"], part["spread"], part["configuration"])])
        title = "Chosen scheme and time" + (f", {where}" if where else "")
        charts.append(Chart(title, f"Each mark is a tuned size: its shape is the scheme that won, its colour the time "
                            f"per unit of work, from {10 ** low:.3g} to {10 ** high:.3g} µs on this device.",
                            traces, layout, numbers))
    return charts


def _bars(title, description, names, values, unit, table) -> Chart:
    if len(values) <= _MOST_NAMED_BARS:
        trace = {"type": "bar", "orientation": "h", "x": list(values)[::-1], "y": list(names)[::-1],
                 "marker": {"color": COLOURS[0]}, "hovertemplate": "%{y}: %{x:.3g}<extra></extra>"}
        layout = {**axes(unit, ""), "height": 120 + 30 * len(values)}
        layout["xaxis"]["rangemode"] = "tozero"
        return Chart(title, description, [trace], layout, table)
    trace = {"type": "bar", "x": list(range(1, len(values) + 1)), "y": list(values), "text": list(names),
             "marker": {"color": COLOURS[0]}, "hovertemplate": "%{text}: %{y:.3g}<extra></extra>",
             "textposition": "none"}
    layout = axes("problem, from the largest", unit)
    layout["yaxis"]["rangemode"] = "tozero"
    return Chart(title, description, [trace], layout, table)


def _regret(rows: pd.DataFrame) -> list[Chart]:
    charts = []
    by_gain = rows.dropna(subset=["gain"]).sort_values("gain", ascending=False)
    if not by_gain.empty:
        mean = math.exp(sum(math.log(g) for g in by_gain["gain"]) / len(by_gain))
        charts.append(_bars(
            "Gain over the untuned default",
            f"How many times as fast the chosen configuration is as the default: {mean:.3g} as a geometric mean.",
            by_gain["problem"], by_gain["gain"], "times as fast",
            Table(["problem", "default µs", "chosen µs", "gain"],
                  by_gain[["problem", "default", "chosen", "gain"]].values.tolist())))
    by_loss = rows.sort_values("loss", ascending=False)
    charts.append(_bars(
        "Regret that remains",
        f"How much slower the choice is than the fastest that was measured at the same size: "
        f"{100 * by_loss['loss'].mean():.2g} % on average, {100 * by_loss['loss'].max():.3g} % at worst.",
        by_loss["problem"], [100 * v for v in by_loss["loss"]], "loss, %",
        Table(["problem", "chosen µs", "best µs", "loss, %", "best configuration"],
              [[p, c, b, 100 * l, f] for p, c, b, l, f in by_loss[
                  ["problem", "chosen", "best", "loss", "best_configuration"]].values.tolist()])))
    return charts


def _provenance(rows: pd.DataFrame, stale: dict | None) -> Chart:
    """When each profile was made, and whether it still holds."""
    def state(row):
        if stale is None:
            return "imported" if row.imported else "local"
        return stale.get((row.identity, row.family, row.problem), "unknown")

    states = [state(row) for row in rows.itertuples()]
    traces = []
    for k, name in enumerate(sorted(set(states))):
        chosen = [i for i, each in enumerate(states) if each == name]
        part = rows.iloc[chosen]
        marker = {"color": COLOURS[k % len(COLOURS)], "symbol": SYMBOLS[k % len(SYMBOLS)], "size": 8}
        traces.append({"type": "scatter", "mode": "markers", "name": name, "x": part["date"].tolist(),
                       "y": part["microseconds"].tolist(), "text": part["problem"].tolist(), "marker": marker,
                       "hovertemplate": "%{text}<br>%{x}<extra>" + name + "</extra>"})
    columns = ["problem", "date", "tool", "driver", "compiler", "clocks", "strategy", "seed"]
    table = Table([*columns, "state"], [[*row, s] for row, s in zip(rows[columns].values.tolist(), states)])
    note = f" {sum('stale' in s for s in states)} of {len(states)} are stale." if stale is not None else ""
    return Chart("When and with what it was tuned", "The date of each profile, and its state; the table has driver, "
                 f"compiler, clocks and strategy.{note}", traces, axes("date", "µs", log_y=True), table)


def database_sections(source, stale: dict | None = None) -> list[Section]:
    every = frames.profiles(source.content)
    profiles = frames.usual(every)
    tried = frames.measurements(source.content)
    regret = frames.losses(profiles, tried) if len(tried) else None
    sections = []
    devices = pd.concat([profiles[["identity", "device"]], tried[["identity", "device"]]]).drop_duplicates()
    for identity, device in devices.itertuples(index=False):
        kept, made = profiles[profiles["identity"] == identity], tried[tried["identity"] == identity]
        for family in sorted({*kept["family"], *made["family"]}):
            rows, attempts = kept[kept["family"] == family], made[made["family"] == family]
            others = len(every[(every["identity"] == identity) & (every["family"] == family)]) - len(rows)
            section = Section(f"{device}: {family}", [
                ("file", source.name), ("device", device_text(identity)), ("profiles", f"{len(rows)}"),
                ("measurements", f"{len(attempts)}")])
            if not rows.empty:
                section.charts += _grid(rows)
                if regret is not None:
                    of = regret[(regret["identity"] == identity) & (regret["family"] == family)]
                    if not of.empty:
                        section.charts += _regret(of)
                section.charts.append(_provenance(rows, stale))
            if others:
                section.notes.append(f"{others} more profiles were found for another objective or with a cold cache: "
                                     "heddle.profiles() shows them.")
            if stale is None:
                section.notes.append("Which profiles are stale is known to the program heddle alone, which was not found.")
            groups = attempts[~attempts["cold_cache"]].groupby("problem", sort=False)  # times of one kind in a chart
            for problem in groups.size().sort_values(ascending=False).index[:_MOST_SEARCHES]:
                of = groups.get_group(problem)
                section.charts += search_charts(
                    problem, [frames.parameters(c) for c in of["configuration"]],
                    [c if s in ("correct", "unverified") and c == c else None for s, c in zip(of["status"], of["cost"])],
                    of["status"].tolist(), of["seconds"].tolist(), "µs")
            if groups.ngroups > _MOST_SEARCHES:
                section.notes.append(f"The searches of {_MOST_SEARCHES} of {groups.ngroups} problems are shown, those with "
                                     "the most measurements.")
            if len(attempts) > MOST_ROWS:
                section.notes.append(f"{len(attempts)} measurements: heddle.measurements() gives them all.")
            sections.append(section)
    return sections


def devices_compared(databases) -> Section | None:
    """The times of problems that several devices have tuned."""
    rows = pd.concat([frames.usual(frames.profiles(each.content)).assign(file=each.name) for each in databases])
    names = rows.groupby(["file", "device"]).ngroups
    rows["who"] = rows["device"] + (" (" + rows["file"] + ")" if rows["device"].nunique() < names else "")
    table = rows.pivot_table(index=["family", "problem"], columns="who", values="microseconds").dropna(thresh=2)
    table = table.dropna(axis="columns", how="all")
    if table.empty:
        return None
    table = table.loc[table.min(axis=1).sort_values().index]
    problems = [f"{family} {problem}" for family, problem in table.index]
    x = list(range(1, len(table) + 1))
    traces = [line(who, x, table[who], k, problems) for k, who in enumerate(table.columns)]
    chart = Chart("Time of the same problems", "What each device takes for the problems that at least two of them have tuned, "
                  "from the fastest.", traces, axes("problem, by its shortest time", "µs", log_y=True),
                  Table(["problem", *table.columns], [[p, *v] for p, v in zip(problems, table.values.tolist())]))
    return Section("Devices side by side", [("problems in common", str(len(table)))], [chart])


def regret_section(source) -> Section:
    document = source.content
    rows = pd.DataFrame([{
        "problem": " ".join(f"{k}={v}" for k, v in each["problem"].items()),
        "chosen": each["chosen_microseconds_per_sample"], "best": each["best_microseconds_per_sample"],
        "default": each["default_microseconds_per_sample"], "loss": each["loss"], "best_configuration": each["best"],
        "gain": (each["default_microseconds_per_sample"] or float("nan")) / each["chosen_microseconds_per_sample"],
    } for each in document["records"]])
    section = Section(f"Regret between tuned sizes: {document['device']}", [("file", source.name)])
    if not rows.empty:
        section.charts = _regret(rows)
    return section


def tuning_section(source) -> Section:
    document = source.content
    rows = []
    for each in document["results"]:
        profile, base = each.get("profile"), each.get("baseline")
        if profile and base and base.get("microseconds_per_sample"):
            chosen = profile["microseconds_per_sample"]
            rows.append([" ".join(f"{k}={v}" for k, v in each["problem"].items()), base["microseconds_per_sample"], chosen,
                         base["microseconds_per_sample"] / chosen])
    rows.sort(key=lambda row: -row[3])
    section = Section(f"A tuning run: {document.get('device')}", [
        ("file", source.name), ("strategy", str(document.get("strategy"))), ("seed", str(document.get("seed"))),
        ("evaluations", str(document.get("evaluations")))])
    if rows:
        section.charts = [_bars("Gain over the untuned default", "How many times as fast each winner is as the default.",
                                [r[0] for r in rows], [r[3] for r in rows], "times as fast",
                                Table(["problem", "default µs", "chosen µs", "gain"], rows))]
    return section
