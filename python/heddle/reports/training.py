"""Sections about training runs (a log) and models."""

from __future__ import annotations

from heddle.reports.charts import COLOURS, Chart, Section, Table, axes, line, number, series
from heddle.reports.network import input_spans, membership_charts, model_surface, sentences, surface_charts


def _value(event: dict, part: str, name: str):
    score = event.get(part)
    return score.get(name) if score else None


def _percent(part):
    return None if part is None else 100 * part


def _epochs(run):
    return [event for event in run if event["event"] == "epoch"]


def _base(file) -> str:
    return str(file).rsplit("/", 1)[-1]


def _title(run, name: str, count: int, index: int) -> str:
    begin = run[0]
    return f"{name}{f' #{index}' if count > 1 else ''}: {begin.get('network')} on {_base(begin.get('data', {}).get('train'))}"


def _curves(epochs, measure: str) -> list[Chart]:
    x = [event["epoch"] for event in epochs]
    charts = []
    errors = [("train", [event.get("train_error") for event in epochs])]
    for part in ("validation", "test"):
        errors.append((part, [_value(event, part, "error") for event in epochs]))
    errors = [(name, column) for name, column in errors if any(v is not None for v in column)]
    charts.append(series("Error by epoch", "Mean error E of a row: of the rows that are learnt, each before its update, and of "
                         "rows that are not.", "epoch", "error", [n for n, _ in errors], x, [c for _, c in errors],
                         log_y=all(v is None or v > 0 for _, c in errors for v in c)))
    columns = [(part, [_value(event, part, measure) for event in epochs]) for part in ("validation", "test")]
    columns = [(name, column) for name, column in columns if any(v is not None for v in column)]
    if columns:
        title, unit, factor = ("Accuracy", "accuracy, %", 100) if measure == "accuracy" else ("RMSE", "RMSE", 1)
        shown = [[None if v is None else factor * v for v in column] for _, column in columns]
        charts.append(series(f"{title} by epoch", "Of rows that were not learnt.", "epoch", unit, [n for n, _ in columns], x,
                             shown, index=1))
    if any("rules" in event for event in epochs):
        charts.append(series("Rules by epoch", _growth(epochs[0].get("rules"), epochs[-1].get("rules")), "epoch",
                             "rules", ["rules"], x, [[event.get("rules") for event in epochs]], index=2))
        charts[-1].layout["yaxis"]["rangemode"] = "tozero"
    return charts


def _growth(first, last) -> str:
    return f"{last} rules from the first epoch to the last." if first == last else f"From {first} rules after the first epoch to {last}."


def _mappings(epochs) -> Chart | None:
    """Time per sample, a series for each mapping, and where training changed it."""
    rows = []
    for event in epochs:
        for use in event.get("mappings") or []:
            rows.append([event["epoch"], use["capacity"], use["configuration"], use["tier"], use["samples"],
                         use["microseconds_per_sample"], use.get("promised_microseconds_per_sample")])
    if not rows:
        return None
    kinds = list(dict.fromkeys((row[2], row[3]) for row in rows))
    step = max(1, len(rows) // 5000)
    traces = []
    for k, (configuration, tier) in enumerate(kinds):
        part = [row for row in rows if row[2] == configuration and row[3] == tier][::step]
        traces.append(line(f"mapping {k + 1}, {tier}", [r[0] for r in part], [r[5] for r in part], k,
                           [r[2] for r in part], hovertemplate="epoch %{x}: %{y:.4g} µs<br>%{text}<extra></extra>"))
    table = Table(["epoch", "room for", "configuration", "tier", "samples", "µs per sample", "promised µs"], rows)
    every = table if len(rows) > 5000 else None
    if every:
        table = Table(table.columns, rows[::step])
    text = "; ".join(f"mapping {k + 1}: {configuration}" for k, (configuration, _) in enumerate(kinds[:6]))
    return Chart("Time per sample and mapping by epoch", f"Learning alone, by the kernel that did it. {text}.", traces,
                 axes("epoch", "µs per sample", log_y=True), table, every)


def _confusion(metrics: dict) -> Chart | None:
    matrix = metrics.get("confusion")
    if not matrix:
        return None
    names = [each["name"] for each in metrics["classes"]]
    shares = [[v / max(1, sum(row)) for v in row] for row in matrix]
    trace = {"type": "heatmap", "x": names, "y": names, "z": shares, "colorscale": SCALE_OF_SHARES, "zmin": 0, "zmax": 1,
             "xgap": 2, "ygap": 2, "customdata": matrix, "colorbar": {"thickness": 12, "tickformat": ".0%"},
             "hovertemplate": "%{y} predicted as %{x}: %{customdata}<extra></extra>"}
    if len(names) <= 12:
        trace.update(text=[[str(v) if v else "" for v in row] for row in matrix], texttemplate="%{text}")
    layout = axes("predicted", "class")
    layout["xaxis"].update(type="category")
    layout["yaxis"].update(type="category", autorange="reversed")
    return Chart("Confusion matrix", f"Of {metrics['rows']} rows of {_base(metrics['data'])}: {100 * metrics['accuracy']:.2f} % are "
                 "predicted as what they are. The colour is the share of a class's rows.", [trace], layout,
                 Table(["class", *names], [[n, *row] for n, row in zip(names, matrix)]))


SCALE_OF_SHARES = [[0, "#F4F6F8"], [1, "#0072B2"]]


def log_sections(source) -> list[Section]:
    sections = []
    for index, run in enumerate(source.content, 1):
        begin, epochs = run[0], _epochs(run)
        end = next((event for event in run if event["event"] == "end"), None)
        data, identity = begin.get("data") or {}, begin.get("identity") or {}
        facts = [("began", begin.get("date")), ("device", f"{begin.get('device')} ({identity.get('name')})"),
                 ("rows", number(data.get("train_rows"))), ("inputs", number(data.get("dim"))),
                 ("outputs", number(data.get("outputs"))), ("model", begin.get("model")),
                 ("ended", (end or {}).get("ending") or "not ended: still at work, or killed"),
                 ("µs per sample", number((end or {}).get("microseconds_per_sample")))]
        section = Section(_title(run, source.name, len(source.content), index), [(n, str(v)) for n, v in facts])
        if epochs:
            section.charts += _curves(epochs, "accuracy" if data.get("task") == "classify" else "rmse")
            mapping = _mappings(epochs)
            if mapping:
                section.charts.append(mapping)
        metrics = (end or {}).get("metrics")
        if metrics:
            confusion = _confusion(metrics)
            if confusion:
                section.charts.append(confusion)
        moments = {event["moment"]: event for event in run if event["event"] == "model"}
        after = moments.get("after") or moments.get("before")
        if after:
            before = moments.get("before") if "after" in moments else None
            section.charts += membership_charts(after, before, begin.get("inputs"), begin.get("resumed") is None)
            section.charts += surface_charts(after, begin.get("inputs"))
            if after.get("rules"):
                section.lists.append(("Rules", sentences(after)))
        section.lists.append(("Options", [f"--{name} {value}" for name, value in (begin.get("options") or {}).items()]))
        notices = [event["text"] for event in run if event["event"] == "notice"]
        if notices:
            section.lists.append(("What the training remarked", notices))
        sections.append(section)
    return sections


def runs_compared(logs) -> Section | None:
    """Several runs over one another."""
    runs = [(_title(run, log.name, len(log.content), i), _epochs(run)) for log in logs for i, run in enumerate(log.content, 1)]
    runs = [(name, epochs) for name, epochs in runs if epochs][:len(COLOURS)]
    if len(runs) < 2:
        return None
    section = Section("Training runs side by side")
    for title, unit, get in (("Train error", "error", lambda e: e.get("train_error")),
                             ("Test accuracy", "accuracy, %", lambda e: _percent(_value(e, "test", "accuracy"))),
                             ("Time per sample", "µs", lambda e: e.get("microseconds_per_sample"))):
        traces, rows = [], []
        for k, (name, epochs) in enumerate(runs):
            step = max(1, len(epochs) // 700)
            part = [(e["epoch"], get(e)) for e in epochs[::step] if get(e) is not None]
            if part:
                traces.append(line(name, [p[0] for p in part], [p[1] for p in part], k))
                rows += [[name, *p] for p in part]
        if traces:
            section.charts.append(Chart(f"{title} of all runs", f"{title} by epoch, a line for each run.", traces,
                                        axes("epoch", unit, log_y=not unit.startswith("accuracy")), Table(["run", "epoch", unit], rows)))
    return section


def model_section(source) -> Section:
    model, document = source.content.model, source.content.document
    facts = [("file", source.name), *((name, document.get(name)) for name in ("network", "size", "task", "epochs"))]
    facts += [(title, document[name]) for title, name in (("hidden layers", "hidden"), ("outputs are", "output_activation"),
                                                          ("weights", "weights")) if name in document]
    section = Section(f"Model {source.name}", [(name, str(value)) for name, value in facts])
    inputs = input_spans(model)
    section.charts = membership_charts(document, inputs=inputs) + model_surface(model, inputs)
    if document.get("rules"):
        section.lists.append(("Rules", sentences(document)))
    if document.get("layers"):
        sizes = document["layers"]
        names = ["inputs", *(f"layer {i}" for i in range(1, len(sizes) - 1)), "outputs"]
        trace = {"type": "bar", "x": names, "y": sizes, "text": sizes, "textposition": "auto", "textangle": 0,
                 "marker": {"color": COLOURS[0]}}
        section.charts.append(Chart("Layers", f"Neurons of each layer; {document.get('weights')} weights between them.", [trace],
                                    axes("", "neurons"), Table(["layer", "neurons"], [list(each) for each in zip(names, sizes)])))
    return section
