#!/usr/bin/env python3
"""Prints the JSON of whole_runs as Markdown, in the shape of the published table of total run times.

    bench/evidence/whole_runs.py whole_runs.json
"""
import csv
import json
import pathlib
import sys

PUBLISHED = pathlib.Path(__file__).resolve().parent.parent / "published" / "total-runtime.csv"
WAYS = {"cpu": "CPU", "gpu-fnn": "GPU-FNN, host decides", "atm": "ATM", "captured": "launched, captured", "heddle": "heddle"}
MEANINGS = {
    "cpu": "heddle on {cores} cores of the same machine",
    "gpu-fnn": "as published, the host decides about every rule; it reads nothing back once the most rules are there",
    "atm": "architecture-aware thread mapping, its space searched for every number of rules that the network passes through",
    "captured": "what heddle launches for every sample, captured in a graph, searched likewise",
    "heddle": "tuned for the same numbers of rules",
}
LETTER_RATIO = 10.0  # GPU-FNN with the decision on the host has to take so many times as long


def per_epoch(run):
    return sum(epoch["seconds"] for epoch in run["epochs"]) / len(run["epochs"]) if "epochs" in run else None


def published():
    """CPU, GPU-FNN and ATM over ATM, by inputs and rules."""
    with open(PUBLISHED, encoding="utf-8", newline="") as file:
        return {(int(row["dim"]), int(row["rules"])):
                [float(row[way]) / float(row["atm"]) if row[way] else None for way in ("cpu", "gpu_fnn")]
                for row in csv.DictReader(file)}


def number(value, digits=2):
    return "–" if value is None else f"{value:.{digits}f}"


def ways_of(document):
    """Those that were run, the baselines first."""
    return [way for way in WAYS if any(way in entry["runs"] for entry in document["sets"])]


def meanings(document):
    """A line for each column."""
    return [f"- {WAYS[way]}: {MEANINGS[way].format(**document)}" for way in ways_of(document)]


def table(document):
    old = published()
    ways = ways_of(document)
    baselines = [way for way in ways if way != "heddle"]
    yield ("| data | rows | dim x outputs | rules at the end | " + " | ".join(WAYS[way] for way in ways) + " | "
           + " | ".join(f"{WAYS[way]} / heddle" for way in baselines) + " | published: CPU / ATM | GPU-FNN / ATM |")
    yield "|---|" + "--:|" * (5 + len(ways) + len(baselines))
    for entry in document["sets"]:
        runs = entry["runs"]
        times = {way: per_epoch(runs[way]) if way in runs else None for way in ways}
        ours = times.get("heddle")
        ends = sorted({run["epochs"][-1]["rules"] for run in runs.values() if "epochs" in run})
        ratios = [number(times[way] / ours, 1) if ours and times[way] else "–" for way in baselines]
        then = old.get((entry["dim"], entry["max_rules"]), [None, None])
        yield "| " + " | ".join([entry["name"], str(entry["rows"]), f"{entry['dim']} x {entry['outputs']}",
                                 ", ".join(map(str, ends)), *[number(time, 3) for time in times.values()], *ratios,
                                 number(then[0], 1), number(then[1])]) + " |"


def errors(document):
    """The way to map the work must not change what is learnt."""
    ways = ways_of(document)
    yield "| data | " + " | ".join(WAYS[way] for way in ways) + " |"
    yield "|---|" + "--:|" * len(ways)
    for entry in document["sets"]:
        errors = {way: run["epochs"][-1]["train_error"] for way, run in entry["runs"].items() if "epochs" in run}
        if errors:
            yield f"| {entry['name']} | " + " | ".join(f"{errors[way]:.5f}" if way in errors else "–" for way in ways) + " |"


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: whole_runs.py FILE.json")
    document = json.loads(pathlib.Path(sys.argv[1]).read_text())
    counts = {len(run["epochs"]) for entry in document["sets"] for run in entry["runs"].values() if "epochs" in run}
    print(f"{document['name']}, {document['driver']}, {document['clocks']}; CPU: {document['cpu']}, {document['cores']} "
          f"cores; {document['date']}, commit {document['commit'] or 'unknown'}. Seconds per epoch, mean of "
          f"{'/'.join(map(str, sorted(counts)))} epochs, the first of which begins with no rule; from parameters on the "
          "host to parameters on the host, compilation before the first epoch left out. Sizes and rules as in the "
          "published table, where the epochs are not known.")
    print(f"\n    {document['command']}\n")
    print("\n".join(meanings(document)) + "\n")
    print("\n".join(table(document)))
    letter = next((entry["runs"] for entry in document["sets"] if entry["name"] == "letter"), {})
    times = [per_epoch(letter[way]) if way in letter else None for way in ("gpu-fnn", "heddle")]
    if all(times):
        ratio = times[0] / times[1]
        print(f"\nOn letter heddle is to be at least {LETTER_RATIO:g} times as fast as GPU-FNN with the decision on the "
              f"host: {ratio:.1f} times, {'reached' if ratio >= LETTER_RATIO else '**not reached**'}.")
    print("\nMean error of the last epoch's samples, each before its update:\n")
    print("\n".join(errors(document)))
    print("\nThe CPU's mapping with its threads, at the number of rules that took most samples:\n")
    for entry in document["sets"]:
        if "configuration" in entry["runs"].get("cpu", {}):
            print(f"- {entry['name']}: `{entry['runs']['cpu']['configuration']}`")
    for entry in document["sets"]:
        for way, run in entry["runs"].items():
            if "failure" in run:
                print(f"\n{entry['name']}, {way}: {run['failure']}")
    if not document["complete"]:
        print("\nThe run was cut short: sets are missing.")


if __name__ == "__main__":
    main()
