#!/usr/bin/env python3
"""Prints the epochs of the JSON of whole_runs as Markdown, and what it costs that the network grows in the first one.

    bench/evidence/growth_table.py run.json

Two bars: random-5000 in at most 35 ms an epoch, mean of the first two; the first epoch of random-5000-long, which has all rules
after a tenth of its rows, in at most 1.3 times the second.
"""
import json
import pathlib
import sys

MILLISECONDS, GROWTH = 35, 1.3
#: The sets that the bars are for.
SHORT, LONG = "random-5000", "random-5000-long"


def milliseconds(run):
    return [1000 * epoch["seconds"] for epoch in run["epochs"]]


def rows(document):
    """Set, way and run, where it ended well."""
    for entry in document["sets"]:
        for way, run in entry["runs"].items():
            if len(run.get("epochs", ())) > 1:
                yield entry, way, run


def reached(value, most):
    return "reached" if value <= most else "**not reached**"


def bars(document):
    found = {entry["name"]: (entry, run) for entry, way, run in rows(document) if way == "heddle"}
    if SHORT not in found:
        yield f"- {SHORT}: not measured"
    else:
        first, second = milliseconds(found[SHORT][1])[:2]
        mean = (first + second) / 2
        yield f"- {SHORT}, mean of two epochs: {mean:.1f} ms, bar {MILLISECONDS} ms: {reached(mean, MILLISECONDS)}"
    if LONG not in found:
        yield f"- {LONG}: not measured"
        return
    entry, run = found[LONG]
    if run["rules_after_a_tenth"] < entry["max_rules"]:
        yield (f"- {LONG}: of {entry['max_rules']} rules {run['rules_after_a_tenth']} are there after a tenth of the rows, "
               "so that it does not show what growth costs")
        return
    first, second = milliseconds(run)[:2]
    yield f"- {LONG}, first epoch over the second: {first / second:.2f}, bar {GROWTH}: {reached(first / second, GROWTH)}"


def table(document):
    yield ("| data | rows | dim x outputs | way | rules at the end | after a tenth of the rows | first epoch, ms | second, ms "
           "| first / second |")
    yield "|---|--:|--:|---|--:|--:|--:|--:|--:|"
    for entry, way, run in rows(document):
        first, second = milliseconds(run)[:2]
        yield (f"| {entry['name']} | {entry['rows']} | {entry['dim']} x {entry['outputs']} | {way} "
               f"| {run['epochs'][1]['rules']} | {run['rules_after_a_tenth']} | {first:.1f} | {second:.1f} "
               f"| {first / second:.2f} |")


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: growth_table.py FILE.json")
    document = json.loads(pathlib.Path(sys.argv[1]).read_text())
    print(f"Milliseconds an epoch, {document['name']}, commit {document['commit'] or 'unknown'}; from parameters on the host "
          "to parameters on the host, compilation left out. The first epoch begins with no rule.\n")
    print("\n".join(table(document)) + "\n")
    print("\n".join(bars(document)))
    for entry in document["sets"]:
        for way, run in entry["runs"].items():
            if "failure" in run:
                print(f"\n{entry['name']}, {way}: {run['failure']}")


if __name__ == "__main__":
    main()
