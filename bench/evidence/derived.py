#!/usr/bin/env python3
"""Makes the Markdown of a folder of results anew from the measured files that lie beside it.

    bench/evidence/derived.py FOLDER [NAME...]

Writes the tables that are named or, if none is, those that FOLDER has already. readme_tables.py --check compares every
table in bench/results/ with what this program would write. Needs nothing beyond Python's standard library.
"""
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
REFERENCE = "mlp_toman_reference.json"


def printed(program, *words):
    """A maker of a table: what a program of the project prints, run in the folder of results."""
    def make(folder):
        command = [sys.executable, "-B", ROOT / program, *words]
        return subprocess.run(command, cwd=folder, check=True, capture_output=True, encoding="utf-8",
                              env=dict(os.environ, PYTHONUTF8="1")).stdout
    return make


def toman(folder):
    """The float64 reference is a file of the folder, or that of the project, since it is the same for every card."""
    reference = REFERENCE if (folder / REFERENCE).exists() else str(ROOT / "bench" / "results" / REFERENCE)
    return printed("bench/mlp/mlp_toman.py", "--table", "mlp_toman.json", "--reference", reference)(folder)


def fuzzy(name):
    return printed("bench/evidence/fuzzy_tables.py", ".", "--print", name)


def bat(name):
    return printed("bench/tuning/bat", "--table", name)


#: What each table is made from, one file at least, and how. Other files beside it are read if they are there.
TABLES = {
    "mapping_table.md": ("mapping_table.json", printed("bench/evidence/mapping_table.py", "mapping_table.json", "--pytorch",
                                                       "pytorch_step.json", "--independent", "independent.txt")),
    "mapping_lines.md": ("mapping_lines.json",
                         printed("bench/evidence/mapping_table.py", "mapping_lines.json", "--pytorch", "pytorch_step.json")),
    "published_shape.md": ("mapping_lines.json", printed("bench/evidence/lines_table.py", "mapping_lines.json")),
    "predict_table.md": ("predict_table.json", printed("bench/evidence/mapping_table.py", "predict_table.json")),
    "whole_runs.md": ("whole_runs.json", printed("bench/evidence/whole_runs.py", "whole_runs.json")),
    "tsk_table.md": ("tsk_table.json", printed("bench/evidence/tsk_table.py", ".")),
    "mlp_published.md": ("mlp_published.json", printed("bench/mlp/mlp_published.py", "--table", "mlp_published.json")),
    "mlp_toman.md": ("mlp_toman.json", toman),
    "mlp_networks.md": ("mlp_networks.json", printed("bench/mlp/mlp_networks.py", "--table", "mlp_networks.json", "--pytorch",
                                                     "mlp_networks_pytorch.json")),
    "bat_gemm.md": ("bat_gemm.json", bat("bat_gemm.json")),
    "bat_convolution.md": ("bat_convolution.json", bat("bat_convolution.json")),
    "bat_others.md": ("bat_others.json", bat("bat_others.json")),
    "fuzzy_table.md": ("fuzzy_table*.csv", fuzzy("fuzzy_table.md")),
    "fuzzy_series.md": ("fuzzy_table*.csv", fuzzy("fuzzy_series.md")),
    "fuzzy_sort.md": ("fuzzy_sort.csv", fuzzy("fuzzy_sort.md")),
    "fuzzy_goals.md": ("fuzzy_table*.csv", fuzzy("fuzzy_goals.md")),
    "fuzzy_width.md": ("fuzzy_width.csv", printed("bench/fuzzy/width_table.py", "fuzzy_width.csv")),
}



def has_source(folder, name):
    return any(folder.glob(TABLES[name][0]))


def present(folder):
    """Names of the tables of a folder that can be made anew."""
    return [name for name in TABLES if (folder / name).exists() and has_source(folder, name)]


def made(folder, name):
    """The text of a table. Throws CalledProcessError if its program failed, whose standard error says why."""
    return TABLES[name][1](folder)


def last_line(error):
    return (error.stderr.strip().splitlines() or ["no word"])[-1]


def wrong(folder):
    """Tables that are not what the files beside them give."""
    found = []
    for name in present(folder):
        try:
            if made(folder, name) != (folder / name).read_text(encoding="utf-8"):
                found.append(f"{folder.name}/{name} is not what {TABLES[name][0]} gives; run bench/evidence/derived.py "
                             f"bench/results/{folder.name}")
        except subprocess.CalledProcessError as error:
            found.append(f"{folder.name}/{name} cannot be made anew: {last_line(error)}")
    return found


def write(folder, name):
    """What went wrong; nothing if the table was written."""
    if not has_source(folder, name):
        return f"{name}: there is no {TABLES[name][0]}"
    try:
        (folder / name).write_text(made(folder, name), encoding="utf-8")
    except subprocess.CalledProcessError as error:
        return f"{name}: {last_line(error)}"
    return None


def main(words):
    if not words or any(name not in TABLES for name in words[1:]):
        print(__doc__, file=sys.stderr)
        return 2
    folder = pathlib.Path(words[0]).resolve()
    failures = [failure for name in words[1:] or present(folder) if (failure := write(folder, name))]
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
