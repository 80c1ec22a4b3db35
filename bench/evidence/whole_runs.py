#!/usr/bin/env python3
"""Prints the JSON of whole_runs as Markdown, in the shape of the published table of total run times.

    bench/evidence/whole_runs.py whole_runs.json
"""
import csv
import json
import pathlib
import re
import sys

PUBLISHED = pathlib.Path(__file__).resolve().parent.parent / "published" / "total-runtime.csv"
WAYS = {"cpu": "CPU", "gpu-fnn": "GPU-FNN, host decides", "atm": "ATM", "captured": "launched, captured", "heddle": "heddle"}
MEANINGS = {
    "cpu": "heddle on the CPU of the same machine ({cores} cores), {cpu_tuned}{cpu_runs}; in brackets its threads",
    "gpu-fnn": "as published, the host decides about every rule; it reads nothing back once the most rules are there; none where a row has "
               "more inputs than a block has threads",
    "atm": "architecture-aware thread mapping, its space searched for every number of rules that the network passes through",
    "captured": "what heddle launches for every sample, captured in a graph, searched likewise",
    "heddle": "{heddle_tuned}",
}
# What files from before there were `templates` in them have under the same names.
OLDER_MEANINGS = {
    "gpu-fnn": "as published, the host decides about every rule; it reads the firing strengths back for every row, also once "
               "the most rules are there; its combine size is not searched",
    "atm": "architecture-aware thread mapping; one search of {atm_budget} s for all numbers of rules of a set together",
}
SEARCHED = ("atm", "captured")  # parts of the space, searched for nothing but this comparison
SEARCHED_FOR = {"cpu": "the number of rules at the end"}  # of the others, for all that the network passes through
FEWEST = 8  # configurations: what tried fewer is not called a search
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


def option_of(document, option):
    """The number that the command gave for an option; 0 if none."""
    found = re.search(rf" {option} (\S+)", document["command"])
    return float(found.group(1)) if found else 0.0


def meanings(document):
    """A line for each column."""
    def tuned(option, how):
        return how if option_of(document, option) > 0 else "not tuned for these numbers of rules"

    runs = option_of(document, "--cpu-runs")
    older = {} if "templates" in document else OLDER_MEANINGS
    said = {"cores": document["cores"], "cpu_tuned": tuned("--cpu-budget", "tuned for the number of rules at the end"),
            "cpu_runs": f", the fastest of {runs:g} runs" if runs > 1 else "",
            "heddle_tuned": tuned("--budget", "tuned for the same numbers of rules"),
            "atm_budget": f"{option_of(document, '--atm-budget'):g}"}
    return [f"- {WAYS[way]}: {older.get(way, MEANINGS[way]).format(**said)}" for way in ways_of(document)]


def threads(run):
    """Those of the mapping that learnt most samples; nothing of a mapping of a GPU."""
    found = re.search(r"\bthreads=(\d+)", run.get("configuration", ""))
    return f" ({found.group(1)})" if found else ""


def times_of(entry, ways):
    """Cells of a table: seconds per epoch, on the CPU with its threads."""
    runs = entry["runs"]
    return [number(per_epoch(runs[way]), 3) + threads(runs[way]) if way in runs else "–" for way in ways]


def configurations(count):
    return f"{count} configuration{'' if count == 1 else 's'}"


def searches(document):
    """How many configurations were tried at least for a number of rules, and what was hardly searched."""
    for way in ways_of(document):
        tried = {entry["name"]: entry["runs"][way]["fewest_configurations_tried"] for entry in document["sets"]
                 if "fewest_configurations_tried" in entry["runs"].get(way, {})}
        if tried:
            least = min(tried, key=tried.get)
            yield f"- {WAYS[way]}: at least {configurations(tried[least])} {'was' if tried[least] == 1 else 'were'} tried for {SEARCHED_FOR.get(way, 'every number of rules')} ({least})"
        elif way in SEARCHED:
            yield f"- {WAYS[way]}: how many configurations were tried is not recorded"
        allowed = {entry["name"]: entry["runs"].get(way, {}).get("configurations_allowed", FEWEST) for entry in document["sets"]}
        for name, count in tried.items():
            if count < min(FEWEST, allowed[name]):
                yield (f"- **{WAYS[way]} on {name} was hardly searched**: {configurations(count)} for "
                       f"{SEARCHED_FOR.get(way, 'some number of rules')}, where {FEWEST} are the least")


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
                                 ", ".join(map(str, ends)), *times_of(entry, ways), *ratios,
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
    print("\n" + "\n".join(searches(document)))
    letter = next((entry["runs"] for entry in document["sets"] if entry["name"] == "letter"), {})
    times = [per_epoch(letter[way]) if way in letter else None for way in ("gpu-fnn", "heddle")]
    if all(times):
        ratio = times[0] / times[1]
        print(f"\nOn letter heddle is to be at least {LETTER_RATIO:g} times as fast as GPU-FNN with the decision on the "
              f"host: {ratio:.1f} times, {'reached' if ratio >= LETTER_RATIO else '**not reached**'}.")
    print("\nMean error of the last epoch's samples, each before its update:\n")
    print("\n".join(errors(document)))
    print("\nThe CPU's mapping, at the number of rules that took most samples:\n")
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
