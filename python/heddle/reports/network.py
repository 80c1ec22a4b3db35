"""Charts about a network: membership functions, rules as sentences, the surface over two inputs."""

from __future__ import annotations

import math

import numpy as np

from heddle.reports.charts import COLOURS, DASHES, SCALE, Chart, Table, axes

_MOST_INPUTS = 8
_MOST_CURVES = 24
_MOST_SENTENCES = 200
_POINTS = 81
_MOST_SURFACES = 6


def sentences(network: dict) -> list[str]:
    """IF ... THEN ... of each rule, in the words of `heddle inspect`; those of many inputs are shortened."""
    result = []
    for rule in network.get("rules") or []:
        if rule.get("words") and len(rule["sets"]) <= 12:
            result.append(rule["words"])
            continue
        words = " and ".join(f"{each['input']} is {each['word']}" for each in rule["sets"])
        if len(rule["sets"]) > 12:
            words = " and ".join(f"{each['input']} is {each['word']}" for each in rule["sets"][:12]) + ", ..."
        then = []
        for each in rule["consequents"]:
            text = f"{each['output']} = {each['constant']:.4g}"
            for slope, part in zip(each.get("slopes") or [], rule["sets"]):
                text += f" {'-' if slope < 0 else '+'} {abs(slope):.4g} {part['input']}"
            then.append(text)
        result.append(f"IF {words} THEN {', '.join(then[:8])}{', ...' if len(then) > 8 else ''}")
    if len(result) > _MOST_SENTENCES:
        result = result[:_MOST_SENTENCES] + [f"... and {len(result) - _MOST_SENTENCES} more"]
    return result


def _sets(network: dict, name: str) -> list[tuple]:
    """The different sets of an input: word, mean, standard deviation. Those that no eye could tell apart are one."""
    found = {}
    for rule in network.get("rules") or []:
        for each in rule["sets"]:
            if each["input"] == name:
                numbers = each["mean"], each["standard_deviation"]
                found.setdefault(tuple(round(value, 9) for value in numbers), (each["word"], *numbers))
    return [found[key] for key in sorted(found)]


def _spread(sets: list[tuple]) -> list[tuple]:
    """All of them, or as many as a chart can show, at equal steps through their order."""
    if len(sets) <= _MOST_CURVES:
        return sets
    return [sets[i * (len(sets) - 1) // (_MOST_CURVES - 1)] for i in range(_MOST_CURVES)]


def _range(inputs, name, sets):
    for each in inputs or []:
        if each["name"] == name and each["maximum"] > each["minimum"]:
            margin = 0.1 * (each["maximum"] - each["minimum"])
            return each["minimum"] - margin, each["maximum"] + margin
    low = min(mean - 3 * deviation for _, mean, deviation in sets)
    high = max(mean + 3 * deviation for _, mean, deviation in sets)
    return (low, high) if high > low else (low - 1, low + 1)


def membership_charts(after: dict, before: dict | None = None, inputs=None, new: bool = True) -> list[Chart]:
    """`before`: the network as it began; a `new` one that finds its rules itself has none before its first epoch."""
    rules = after.get("rules") or []
    if not rules:
        return []
    names = list(dict.fromkeys(each["input"] for each in rules[0]["sets"]))
    early = bool(before) and new and before["epoch"] > 0
    when = f"after epoch {before['epoch']}" if early else "before"
    charts = []
    for name in names[:_MOST_INPUTS]:
        moments = [("after", _sets(after, name))]
        if before and before.get("rules"):
            moments.insert(0, (when, _sets(before, name)))
        low, high = _range(inputs, name, [s for _, sets in moments for s in sets])
        x = [low + (high - low) * i / (_POINTS - 1) for i in range(_POINTS)]
        traces, rows = [], []
        for k, (moment, sets) in enumerate(moments):
            final = moment == "after"
            rows += [[moment, *each] for each in sets]
            for n, (word, mean, deviation) in enumerate(_spread([each for each in sets if each[2] > 0])):
                y = [math.exp(-0.5 * ((v - mean) / deviation) ** 2) for v in x]
                traces.append({
                    "type": "scatter", "mode": "lines", "x0": x[0], "dx": x[1] - x[0], "y": y, "name": moment, "legendgroup": moment,
                    "showlegend": n == 0, "text": word, "hovertemplate": f"{word}<br>%{{x:.4g}}: %{{y:.3f}}<extra>{moment}</extra>",
                    "line": {"color": COLOURS[0 if final else 4], "width": 2 if final else 1.5,
                             "dash": DASHES[0 if final else 2]}, "opacity": 0.85 if len(sets) < 8 else 0.5})
        many = f" {_MOST_CURVES} of them, from the lowest to the highest, are drawn." if any(len(s) > _MOST_CURVES for _, s in moments) else ""
        versus = f" The dotted curves are those {'after the first epoch' if early else 'before training'}." if len(moments) > 1 else ""
        charts.append(Chart(f"Membership functions of {name}", f"{len(moments[-1][1])} sets of {name} in its own units.{versus}"
                            f"{many}", traces, axes(name, "membership"),
                            Table(["moment", "set", "mean", "standard deviation"], rows)))
    return charts


def surface_charts(network: dict, inputs=None) -> list[Chart]:
    """The output over two inputs, by the formula of docs/design.md: firings normalised, times the consequents."""
    rules = network.get("rules") or []
    if not rules or len(rules[0]["sets"]) != 2:
        return []
    names = [each["input"] for each in rules[0]["sets"]]
    mean = np.array([[s["mean"] for s in rule["sets"]] for rule in rules])
    deviation = np.array([[s["standard_deviation"] for s in rule["sets"]] for rule in rules])
    if not (deviation > 0).all():
        return []
    spans = [_range(inputs, name, _sets(network, name)) for name in names]

    def outputs(grid):
        firing = -0.5 * (((grid[:, None, :] - mean) / deviation) ** 2).sum(axis=2)
        firing = np.exp(firing - firing.max(axis=1, keepdims=True))
        firing /= firing.sum(axis=1, keepdims=True)
        columns = []
        for k in range(len(rules[0]["consequents"])):
            constants = np.array([rule["consequents"][k]["constant"] for rule in rules])[None, :]
            slopes = [rule["consequents"][k].get("slopes") or [0.0, 0.0] for rule in rules]
            columns.append((firing * (constants + grid @ np.array(slopes).T)).sum(axis=1))
        return np.stack(columns, axis=1)

    return _surfaces(names, spans, [str(each["output"]) for each in rules[0]["consequents"]], outputs)


def input_spans(model) -> list[dict] | None:
    """Where the rows lay that a model was taught with, as far as the scaling of its inputs tells; as `inputs` of a log."""
    scaling = model.input_scaling()
    names = model.input_names or [f"input {j + 1}" for j in range(model.dim)]
    spans = []
    for name, offset, factor in zip(names, scaling["offset"], scaling["factor"]):
        if scaling["kind"] == "none" or factor <= 0:
            return None
        low, high = {"minmax": (0.0, 1.0), "zscore": (-2.0, 2.0), "unit": (-1.0, 1.0)}[scaling["kind"]]
        spans.append({"name": name, "minimum": offset + low / factor, "maximum": offset + high / factor})
    return spans


def model_surface(model, inputs=None) -> list[Chart]:
    """What a model of two inputs predicts over them, on the CPU."""
    if model.dim != 2:
        return []
    names = model.input_names or ["input 1", "input 2"]
    spans = [_range(inputs, name, [("", 0.0, 1.0)]) for name in names]
    titles = list(model.classes or model.target_names) or [f"output {k + 1}" for k in range(model.outputs)]
    return _surfaces(names, spans, titles, lambda grid: model.predict(np.ascontiguousarray(grid, dtype=np.float32), "cpu"))


def _surfaces(names, spans, titles, outputs) -> list[Chart]:
    """A chart for each of the first outputs; `outputs` takes N x 2 and returns N x L."""
    x, y = (np.linspace(low, high, 31) for low, high in spans)
    grid = np.stack([g.ravel() for g in np.meshgrid(x, y)], axis=1)
    values = outputs(grid)
    charts = []
    for k, title in enumerate(titles[:_MOST_SURFACES]):
        z = values[:, k].astype(float)
        trace = {"type": "contour", "x": x.tolist(), "y": y.tolist(), "z": z.reshape(len(y), len(x)).tolist(), "colorscale": SCALE,
                 "colorbar": {"thickness": 12}, "line": {"width": 0.5}}
        rows = [[*map(float, at), float(value)] for at, value in zip(grid, z)]
        charts.append(Chart(f"Surface of {title}", f"The network's output over {names[0]} and {names[1]}, from "
                            f"{z.min():.4g} to {z.max():.4g}.", [trace], axes(names[0], names[1]), Table([*names, title], rows)))
    return charts
