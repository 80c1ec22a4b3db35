#!/usr/bin/env python3
"""Writes the tables of README.md from bench/results/.

    bench/evidence/readme_tables.py [--check] [--program build/release/bench/template_digests]

Changes README.md in place. Of a table that was measured on several devices the one that was measured last is shown. The program
prints the digests of the code. With --check nothing is changed; it only says what is wrong, exit code 1:

- a table that is not what the results say
- a table from kernels other than those of the code, unless the words "Measured with older kernels" stand between it and the next
  heading or table; of the same kernels, but with another search space or other weights of the shipped cost model, or of unknown
  ones, the words are "Measured with an older search space or older weights"
- these words beside a table of which they are not true
- a file of results that is not as it was measured, or whose origin is not known
- Markdown in bench/results/ that is not what the files beside it give (derived.py writes it anew)
"""
import argparse
import json
import math
import pathlib
import re
import subprocess
import sys

import derived
import mapping_table
import origins
import tsk_table
import vintage
import whole_runs

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "mlp"))
import mlp_published  # noqa: E402
import mlp_toman  # noqa: E402

RESULTS = ROOT / "bench" / "results"
CELLS = [(32, 16, 1), (640, 16, 1), (256, 256, 1), (1024, 16, 1), (1024, 512, 1), (1024, 1024, 1), (32, 16, 10),
         (640, 16, 10), (256, 256, 10), (1024, 16, 10), (1024, 512, 10), (1024, 1024, 10), (642, 16, 26), (500, 617, 26)]
COLUMNS = {"best pytorch": "PyTorch", "gpu-fnn": "GPU-FNN", "atm": "ATM",
           "best captured": "launched, best captured", "fixed": "one fixed mapping", "untuned": "heddle, untuned",
           "default": "heddle, default", "chosen": "heddle, tuned", "floor": "floor of the card"}
PER_OUTPUTS = "fixed per outputs"  # in the line of means alone
# What the first sentence compares with: the strongest that was measured.
CLAIMS = {"best captured": "the fastest step of kernels that are launched for every sample (published mappings and heddle's own, in a CUDA graph, "
                            "searched for every size)",
          "atm": "ATM, the best published mapping, most of whose time goes into its three launches,"}


MAPPINGS, PYTORCH, INDEPENDENT = "mapping_table.json", "pytorch_step.json", "independent.txt"
#: The tables are of the card of this one wherever that has measured the same kernels.
CARD_OF = MAPPINGS


def measured(name: str, folders: str = "nvidia-*", usable=lambda document: True) -> list[pathlib.Path]:
    """The files of that name that were measured to the end, on the devices of `folders`; the newest first, and those without a
    date last."""
    documents = [(json.loads(file.read_text()), file) for file in RESULTS.glob(f"{folders}/{name}")]
    files = [(document.get("date", ""), file) for document, file in documents
             if document.get("complete", True) and usable(document)]
    if not files:
        raise FileNotFoundError(f"{RESULTS} has no {folders}/{name}")
    return [file for _, file in sorted(files, reverse=True)]


def of_same_kernels(files: list[pathlib.Path]) -> list[pathlib.Path]:
    """The first of them and what was measured with the same kernels; nothing if it does not name them."""
    kernels = vintage.templates(vintage.read(files[0]))
    return [file for file in files if kernels and vintage.templates(vintage.read(file)) == kernels]


def newest(name: str, folders: str = "nvidia-*", usable=lambda document: True) -> pathlib.Path:
    """The file of that name that was measured last, on whichever device of `folders`. Of those with the same kernels, search
    space and weights that of the card of the first sentence."""
    files = measured(name, folders, usable)
    chosen = vintage.choices(vintage.read(files[0]))
    alike = [file for file in of_same_kernels(files) if vintage.choices(vintage.read(file)) == chosen]
    of_first = newest(CARD_OF).with_name(name) if name != CARD_OF and len(alike) > 1 else files[0]
    return of_first if of_first in alike else files[0]


def newest_cpu_step() -> pathlib.Path:
    """Files of before tuned times were in them have no such table."""
    return newest("cpu_step.json", "*", lambda document: all("tuned" in step.get("quiet", {}) for step in document["steps"]))


def mappings():
    """Document and times by cell of the newest table of mappings, and its folder."""
    file = newest(MAPPINGS)
    document, found = mapping_table.load(file, file.with_name(PYTORCH), file.with_name(INDEPENDENT))
    return document, found, file.parent


def card(document: dict) -> str:
    return f"one {document['name']}"


def at_least(ratios: list[float]) -> str:
    """Rounded down, or it would not be the least."""
    return f"{math.floor(min(ratios) * 10) / 10:.1f}"


def times(ratios: list[float]) -> tuple[str, str]:
    """Geometric mean and least, as the first sentence says them."""
    return f"{mapping_table.geometric_mean(ratios):.1f} times", f"{at_least(ratios)} at least"


def of_one_output(found: dict) -> dict:
    return {sizes: cell for sizes, cell in found.items() if sizes[2] == 1}


def claim() -> str:
    document, found, _ = mappings()
    single = of_one_output(found)
    role = next(role for role in CLAIMS if any(role in cell for cell in single.values()))
    ratios = list(mapping_table.ratios(single, role).values())
    mean, least = times(ratios)
    said = (f"On {card(document)}, {CLAIMS[role]} takes {mean} as long as heddle's, which learns many samples in one launch (SONFIN, "
            f"geometric mean of {len(ratios)} sizes with one output; {least}).")
    best = list(mapping_table.ratios_at_best(single, found, role).values())
    if role == "best captured" and times(best) != (mean, least):
        said += (" For some sizes the search missed the fastest graph, since that of a larger size takes less time; with the least "
                 f"time of all larger sizes in its place it is {', '.join(times(best))}.")
    for file in of_same_kernels(measured(MAPPINGS))[1:]:  # of other cards
        tables = [mapping_table.load(table) for table in sorted(file.parent.glob(f"{file.stem}*.json"))]
        sizes = max(len(of_one_output(found)) for _, found in tables)
        of_tables = [list(mapping_table.ratios(of_one_output(found), role).values()) for _, found in tables]
        whole = [ratios for ratios in of_tables if len(ratios) == sizes]
        if whole:  # what was measured more than once counts with the lower figures
            mean, _ = times(min(whole, key=mapping_table.geometric_mean))
            said += f" On {card(tables[0][0])} it is {mean}, {times(min(whole, key=min))[1]}."
    return said


def mean_and_least(ratios: list[float]) -> str:
    return f"{mapping_table.geometric_mean(ratios):.2f} ({min(ratios):.2f})"


def gpu() -> str:
    document, found, folder = mappings()
    roles = [role for role in COLUMNS if any(role in cell for cell in found.values())]
    if "untuned" in roles:
        roles.remove("default")  # which nobody gets where weights of any card speak
    lines = [f"Microseconds per sample of online training on {card(document)}, rule decision included:", "",
             "| rules x dim x outputs | " + " | ".join(COLUMNS[role] for role in roles) + " |",
             "|---|" + "--:|" * len(roles)]
    for sizes in CELLS:
        if sizes in found:
            figures = " | ".join(mapping_table.digits(found[sizes][role][0]) if role in found[sizes] else "–" for role in roles)
            lines.append(f"| {mapping_table.name(sizes)} | {figures} |")
    lines += [""] + [f"- {COLUMNS[role]}: {mapping_table.meaning(document, role)}" for role in roles]
    if "best pytorch" in roles:
        lines[-len(roles) + roles.index("best pytorch")] += (
            f" ({mapping_table.pytorch_setting(folder / PYTORCH)}; measured {origins.beside(folder / MAPPINGS, folder / PYTORCH)})")
    for outputs in sorted({sizes[2] for sizes in found}):
        part = {sizes: cell for sizes, cell in found.items() if sizes[2] == outputs}
        if len(part) < 42:
            continue
        said = []
        for role in ("best captured", "gpu-fnn", "atm", "best pytorch", "fixed", PER_OUTPUTS, "untuned", "default"):
            ratios = list(mapping_table.ratios(part, role).values())
            if ratios and (role in roles or role not in COLUMNS):
                of = f" over {len(ratios)} sizes" if len(ratios) != len(part) else ""
                said.append(f"{COLUMNS.get(role, 'one fixed mapping for this number of outputs')} {mean_and_least(ratios)}{of}")
            best = list(mapping_table.ratios_at_best(part, found, role).values())
            if ratios and role == "best captured" and best != ratios:
                said[-1] += f" (where the graph of a larger size is faster, with that: {mean_and_least(best)})"
        lines += ["", f"Times as long as what heddle chose, geometric mean (and lowest) of {len(part)} sizes with "
                  f"{outputs} output{'' if outputs == 1 else 's'}: " + "; ".join(said) + f". All sizes: [mapping_table.md](bench/results/{folder.name}/"
                  "mapping_table.md)."]
    return "\n".join(lines)


def plots() -> str:
    file = newest("mapping_lines.json")
    said = [f"Time per sample against rules and against inputs, on {card(json.loads(file.read_text()))}:"]
    said += [f"![{meaning}](bench/results/{file.parent.name}/{plot})"
             for plot, meaning in (("time_against_rules.svg", "Time per sample against rules"),
                                   ("time_against_dim.svg", "Time per sample against inputs"))]
    return "\n\n".join(said)


def runs() -> str:
    document = json.loads(newest("whole_runs.json").read_text())
    ways = whole_runs.ways_of(document)
    lines = [f"Whole training runs on {card(document)}, seconds per epoch:", "",
             "| data | rows | dim x outputs | rules | " + " | ".join(whole_runs.WAYS[way] for way in ways) + " |",
             "|---|" + "--:|" * (3 + len(ways))]
    for entry in document["sets"]:
        lines.append(f"| {entry['name']} | {entry['rows']} | {entry['dim']} x {entry['outputs']} | {entry['max_rules']} | "
                     + " | ".join(whole_runs.times_of(entry, ways)) + " |")
    return "\n".join(lines + [""] + whole_runs.meanings(document) + list(whole_runs.searches(document)))


def prediction() -> str:
    document, found = mapping_table.load(newest("predict_table.json"))
    said = []
    for cell in document["cells"]:
        sizes, rows = mapping_table.key(cell), cell["samples"]
        best = found[sizes]
        if "chosen" in best:
            floor = f"; the card's arithmetic alone takes {best['floor'][0] * rows / 1000:.2f} ms" if "floor" in best else ""
            said.append(f"Prediction of {rows} rows at {mapping_table.name(sizes)} on {card(document)}: "
                        f"{best['chosen'][0] * rows / 1000:.2f} ms{floor}.")
    return "\n\n".join(said)


def least_squares() -> str:
    return "\n".join(tsk_table.readme(newest("tsk_table.json").parent))


def perceptrons() -> str:
    return "\n".join(mlp_published.readme(newest("mlp_published.json").parent))


def toman() -> str:
    return "\n".join(mlp_toman.readme(newest("mlp_toman.json").parent))


def cpu() -> str:
    file = newest_cpu_step()
    document = json.loads(file.read_text())
    _, name, _, units, *_ = document["device"].split("|")
    lines = [f"Microseconds per sample of the online step on {units.removesuffix(' units')} cores of {name} "
             f"([{file.parent.name}](bench/results/{file.parent.name})), beside a plain loop at `-O3 -march=native -ffast-math`:", "",
             "| rules x dim x outputs | plain loop, one core | heddle, untuned | heddle, tuned | times faster |", "|---|--:|--:|--:|--:|"]
    for row in document["steps"]:
        sizes = " x ".join(part.split("=")[1] for part in row["problem"].split())
        plain, untuned, tuned = (row["quiet"][name]["median_us"] for name in ("plain", "default", "tuned"))
        lines.append(f"| {sizes} | {plain:.1f} | {untuned:.1f} | {tuned:.1f} | {plain / tuned:.1f} |")
    return "\n".join(lines)


TABLES = {"claim": claim, "gpu": gpu, "plots": plots, "runs": runs, "prediction": prediction, "least squares": least_squares,
          "perceptrons": perceptrons, "toman": toman, "cpu": cpu}
# What each is made from, as far as heddle's kernels were measured for it: the newest of that name.
FILES = {"claim": MAPPINGS, "gpu": MAPPINGS, "plots": "mapping_lines.json", "runs": "whole_runs.json",
         "prediction": "predict_table.json", "least squares": "tsk_table.json", "perceptrons": "mlp_published.json",
         "toman": "mlp_toman.json", "cpu": "cpu_step.json"}
# As the line near the front calls them; the claim is of the same file as the mappings.
LABELS = {"gpu": "the sentence above and the mappings", "plots": "the plots", "runs": "whole runs", "prediction": "prediction",
          "least squares": "least squares", "perceptrons": "perceptrons", "toman": "Toman's run", "cpu": "the step on a CPU"}
# With what a table was measured, and the words that have to stand beside it.
TODAYS, OLDER_KERNELS = "today's kernels", "older kernels"
OLDER_CHOICES = "today's kernels, but an older or unrecorded search space or weights"
WORDS = {OLDER_KERNELS: "Measured with older kernels", OLDER_CHOICES: "Measured with an older search space or older weights"}


def file_of(table: str) -> pathlib.Path:
    return newest_cpu_step() if table == "cpu" else newest(FILES[table])


def kernels_of(file: pathlib.Path, digests: dict) -> tuple[str, list[str]]:
    """With what a file was measured, and why it is not what the code has."""
    if reasons := vintage.older(file, digests):
        return OLDER_KERNELS, reasons
    reasons = vintage.older_choices(file, digests)
    return (OLDER_CHOICES if reasons else TODAYS), reasons


def device_of(file: pathlib.Path) -> str:
    """Its name; of files that do not tell it that of what was measured in the same run in PyTorch."""
    document = json.loads(file.read_text())
    beside = file.with_name(file.stem + "_pytorch.json")
    if "name" in document:
        return document["name"]
    if "|" in document["device"]:
        return document["device"].split("|")[1]
    return json.loads(beside.read_text())["device"] if beside.exists() else document["device"]


def overview(digests: dict) -> str:
    """Which tables are of which device and kernels, in one line."""
    groups = {}
    for table, label in LABELS.items():
        file = file_of(table)
        groups.setdefault((device_of(file), kernels_of(file, digests)[0]), []).append(label)
    said = [f"{', '.join(labels)}: {device}, {kernels}" for (device, kernels), labels in groups.items()]
    return "Where the figures below were measured: " + "; ".join(said) + "."


def up_to_date(text: str, digests: dict) -> str:
    made = {name: table() for name, table in TABLES.items()} | {"overview": overview(digests)}
    for name, table in made.items():
        begin, end = f"<!-- {name} table -->\n", f"\n<!-- end of {name} table -->"
        before, rest = text.split(begin)
        text = before + begin + table + end + rest.split(end)[1]
    return text


def beside(text: str, name: str) -> str:
    """What the text says of a table: from its end to the next heading or table."""
    rest = text.split(f"<!-- end of {name} table -->")[1]
    return re.split(r"^#|^<!-- ", rest, maxsplit=1, flags=re.MULTILINE)[0]


def vintages(text: str, digests: dict) -> list[str]:
    """What is wrong with the words about what the tables were measured with."""
    wrong = []
    for name in TABLES:
        kernels, reasons = kernels_of(file_of(name), digests)
        for meaning, words in WORDS.items():
            said = re.search(words.replace(" ", r"\s+"), beside(text, name), re.IGNORECASE)
            if meaning == kernels and not said:
                wrong.append(f'README.md: the {name} table does not say "{words}": {"; ".join(reasons)}')
            if meaning != kernels and said:
                wrong.append(f"README.md: the {name} table is of {kernels}; beside it stands \"{said.group()}\"")
    return wrong


def check(text: str, digests: dict) -> list[str]:
    stale = [] if up_to_date(text, digests) == text else ["README.md: its tables are not what bench/results/ says; run "
                                                 "bench/evidence/readme_tables.py"]
    folders = [folder for folder in sorted(RESULTS.iterdir()) if folder.is_dir()]
    return stale + vintages(text, digests) + [line for folder in folders for line in origins.wrong(folder) + derived.wrong(folder)]


def main() -> int:
    parser = argparse.ArgumentParser(description="Writes the tables of README.md, or checks them")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/release/bench/template_digests")
    options = parser.parse_args()
    file = ROOT / "README.md"
    try:
        digests = json.loads(subprocess.run([options.program], check=True, capture_output=True, text=True).stdout)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"readme_tables.py: no digests of the code: {error}; build template_digests", file=sys.stderr)
        return 1
    text = file.read_text()
    if not options.check:
        file.write_text(up_to_date(text, digests))
        return 0
    wrong = check(text, digests)
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
