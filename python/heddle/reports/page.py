"""The page: one file that opens without a network."""

from __future__ import annotations

import csv
import html
import json
from pathlib import Path

from heddle.reports.charts import MOST_ROWS, Chart, Section, Table, number

_STYLE = """
:root { --ink: #1b2733; --soft: #5b6875; --line: #dfe4e9; --paper: #ffffff; --back: #f5f7f9; --mark: #0072b2; }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--ink); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif;
  overflow-wrap: anywhere; }
header, main, footer { max-width: 72rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 2rem; }
h1 { font-size: 1.75rem; font-weight: 650; letter-spacing: -.01em; margin: 0 0 .25rem; }
h2 { font-size: 1.3rem; font-weight: 650; margin: 0 0 .75rem; }
h3 { font-size: 1.02rem; font-weight: 600; margin: 0 0 .25rem; }
header p, footer p { color: var(--soft); margin: 0 0 1rem; }
nav ul { list-style: none; padding: 0; margin: 0 0 1rem; display: flex; flex-wrap: wrap; gap: .35rem 1.25rem; }
a { color: var(--mark); text-underline-offset: .15em; }
section { margin: 2.25rem 0; }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(13rem, 1fr)); gap: .6rem 1.5rem; margin: 0 0 1.25rem; }
dt { color: var(--soft); font-size: .8rem; } dd { margin: 0; font-weight: 500; }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 30rem), 1fr)); gap: 1.25rem; align-items: start; }
figure, .list { margin: 0; background: var(--paper); border: 1px solid var(--line); border-radius: 8px; padding: 1rem;
  min-width: 0; }
figcaption p { margin: 0 0 .5rem; color: var(--soft); font-size: .88rem; }
.plot { width: 100%; height: 22rem; }
.scroll { overflow: auto; max-height: 22rem; border-top: 1px solid var(--line); }
table { border-collapse: collapse; font-size: .8rem; font-variant-numeric: tabular-nums; width: 100%; overflow-wrap: normal; }
th { position: sticky; top: 0; background: var(--paper); text-align: left; color: var(--soft); font-weight: 600; }
th, td { padding: .25rem .9rem .25rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th.n, td.n { text-align: right; white-space: nowrap; }
td:not(.n) { min-width: 6rem; overflow-wrap: anywhere; }
details { margin-top: .5rem; } summary { cursor: pointer; color: var(--mark); font-size: .88rem; padding: .25rem 0; }
.list { margin-top: 1.25rem; } .list ol { margin: .25rem 0 0; padding-left: 2.2rem; font-size: .9rem; max-height: 26rem; overflow: auto; }
.note { color: var(--soft); font-size: .9rem; }
@media (max-width: 34rem) { header, main, footer { padding: 0 .75rem; } header { padding-top: 1.25rem; } h1 { font-size: 1.4rem; }
  figure, .list { padding: .75rem; } .plot { height: 19rem; } dl { grid-template-columns: 1fr 1fr; } }
@media print { figure { break-inside: avoid; } .charts { display: block; } }
"""

# Draws each chart when the page is there; `data-drawn` tells a test, or a reader's tool, that it stands.
_SCRIPT = """
const charts = JSON.parse(document.getElementById('charts').textContent);
// Ticks of a logarithmic axis as whole numbers, 1 2 5 10 20: plotly's own leave the power out between decades.
function ticks(traces, of) {
  const values = traces.flatMap(t => Array.isArray(t[of]) ? t[of] : []).filter(v => typeof v === 'number' && v > 0);
  if (!values.length) return {};
  const low = Math.min(...values), high = Math.max(...values), found = {};
  for (const steps of [[1, 1.5, 2, 3, 4, 5, 6, 8], [1, 2, 5], [1, 3], [1]]) {
    found.tickvals = [];
    for (let power = Math.floor(Math.log10(low)) - 1; power <= Math.log10(high) + 1; ++power)
      for (const step of steps) found.tickvals.push(step * 10 ** power);
    const inside = found.tickvals.filter(v => v >= low && v <= high).length;
    if (inside <= 7) break;
  }
  found.ticktext = found.tickvals.map(v => Number(v.toPrecision(2)).toLocaleString('en', {maximumSignificantDigits: 2, useGrouping: false}));
  return found;
}
for (const [index, chart] of charts.entries()) {
  const place = document.getElementById('chart-' + index);
  const ink = '#1b2733', line = '#e6eaee';
  const axis = {gridcolor: line, zerolinecolor: line, linecolor: line, automargin: true, title: {standoff: 8}};
  const given = chart.layout;
  const layout = {...given, font: {family: 'system-ui, sans-serif', size: 12, color: ink}, paper_bgcolor: 'rgba(0,0,0,0)',
    plot_bgcolor: 'rgba(0,0,0,0)', margin: {l: 50, r: 10, t: 10, b: 40}, hovermode: 'closest', autosize: true,
    legend: {orientation: 'h', y: 1.02, yanchor: 'bottom', x: 0}, hoverlabel: {align: 'left'},
    xaxis: {...axis, ...given.xaxis}, yaxis: {...axis, ...given.yaxis}};
  for (const [name, of] of [['xaxis', 'x'], ['yaxis', 'y']])
    if (layout[name].type === 'log' && !layout[name].tickvals) Object.assign(layout[name], ticks(chart.traces, of));
  if (given.height) place.style.height = given.height + 'px';
  Plotly.newPlot(place, chart.traces, layout, {responsive: true, displayModeBar: false, showSendToCloud: false})
    .then(() => { place.dataset.drawn = 'yes'; });
}
"""


def _cell(value, numeric: bool) -> str:
    kind = ' class="n"' if numeric else ""
    exact = f' data-value="{value!r}"' if isinstance(value, float) and value == value else ""
    return f"<td{kind}{exact}>{html.escape(number(value))}</td>"


def _table(table: Table) -> str:
    count = len(table.columns)
    numeric = [all(isinstance(row[k], (int, float)) or row[k] is None for row in table.rows) for k in range(count)]
    head = "".join(f'<th scope="col"{" class=n" if n else ""}>{html.escape(str(c))}</th>'
                   for c, n in zip(table.columns, numeric))
    rows = "".join("<tr>" + "".join(_cell(v, n) for v, n in zip(row, numeric)) + "</tr>" for row in table.rows)
    return f'<div class="scroll" tabindex="0"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _figure(chart: Chart, index: int, extra: str) -> str:
    rows = len(chart.table.rows)
    table = _table(chart.table)
    label = html.escape(f"{chart.title}. {chart.description}", quote=True)
    opened = " open" if rows <= 6 else ""
    return (f'<figure><figcaption><h3>{html.escape(chart.title)}</h3><p>{html.escape(chart.description)}</p></figcaption>'
            f'<div class="plot" id="chart-{index}" role="img" aria-label="{label}"></div>'
            f'<details{opened}><summary>The numbers: {rows} row{"s" if rows != 1 else ""}{extra}</summary>{table}</details>'
            "</figure>")


def _plain(value):
    """NumPy's numbers as Python's, and what JSON has no word for as null."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    return value


def _drawn(value):
    """Numbers for the eye: six digits are more than a screen shows, and make a page a third as large."""
    if isinstance(value, dict):
        return {k: _drawn(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_drawn(v) for v in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


class _Room:
    """How much of the page its tables may still take. What does not fit goes into a file beside it."""

    def __init__(self):
        self.left = 1_200_000  # characters

    def rows(self, table: Table) -> int:
        """How many rows of a table are on the page."""
        characters = sum(sum(len(str(cell)) + 30 for cell in row) for row in table.rows)
        if characters <= self.left or len(table.rows) <= _FEWEST_ROWS:
            self.left -= characters
            return len(table.rows)
        return _FEWEST_ROWS


_FEWEST_ROWS = 50


def _html_of(section: Section, charts: list[dict], beside: Path, written: list[Path], room: _Room) -> str:
    out = [f"<section id=\"{_anchor(section)}\"><h2>{html.escape(section.title)}</h2>"]
    if section.facts:
        out.append("<dl>" + "".join(f"<div><dt>{html.escape(n)}</dt><dd>{html.escape(v)}</dd></div>" for n, v in section.facts)
                   + "</dl>")
    out.append('<div class="charts">')
    for chart in section.charts:
        index = len(charts)
        charts.append({"traces": chart.traces, "layout": chart.layout})
        chart.table.rows = _plain(chart.table.rows)
        extra = ""
        every = chart.every_row
        shown = min(room.rows(chart.table), MOST_ROWS)
        if shown < len(chart.table.rows):
            every = every or chart.table
            chart.table = Table(chart.table.columns, chart.table.rows[:shown])
        if every is not None:
            file = beside.with_name(f"{beside.stem}-{len(written) + 1}.csv")
            with open(file, "w", newline="", encoding="utf-8") as stream:
                writer = csv.writer(stream)
                writer.writerow(every.columns)
                writer.writerows(_plain(every.rows))
            written.append(file)
            extra = f"; all {len(every.rows)} are in {html.escape(file.name)}"
        out.append(_figure(chart, index, extra))
    out.append("</div>")
    for title, lines in section.lists:
        items = "".join(f"<li>{html.escape(each)}</li>" for each in lines)
        out.append(f'<div class="list"><h3>{html.escape(title)}</h3><ol>{items}</ol></div>')
    out += [f'<p class="note">{html.escape(note)}</p>' for note in section.notes]
    return "".join(out) + "</section>"


def _anchor(section: Section) -> str:
    return "s-" + "".join(c if c.isalnum() else "-" for c in section.title.lower())


def _write(text: str, file: Path) -> None:
    """Whole or not at all; a device or a pipe is written to, never replaced."""
    if file.exists() and not file.is_file():
        file.write_text(text, encoding="utf-8")
        return
    temporary = file.with_name(f".{file.name}.part")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(file)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(file)) from error
    finally:
        temporary.unlink(missing_ok=True)


def page(title: str, remark: str, sections: list[Section], file: Path) -> list[Path]:
    """Writes the page and the tables beside it; returns the files."""
    from plotly.offline import get_plotlyjs

    charts: list[dict] = []
    written: list[Path] = []
    room = _Room()
    body = "".join(_html_of(section, charts, file, written, room) for section in sections)
    links = "".join(f'<li><a href="#{_anchor(s)}">{html.escape(s.title)}</a></li>' for s in sections)
    data = json.dumps(_drawn(_plain(charts)), allow_nan=False, separators=(",", ":")).replace("</", "<\\/")
    policy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
    text = (f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
            f'<link rel="icon" href="data:,"><style>{_STYLE}</style></head>'
            f"<body><header><h1>{html.escape(title)}</h1><p>{html.escape(remark)}</p>"
            f"<nav aria-label=\"Parts\"><ul>{links}</ul></nav></header><main>{body}</main>"
            "<footer><p>Colours are told apart by the colour-blind, too; every chart has its numbers below it.</p></footer>"
            f'<script type="application/json" id="charts">{data}</script><script>{get_plotlyjs()}</script>'
            f"<script>{_SCRIPT}</script></body></html>")
    _write(text, file)
    return [file, *written]
