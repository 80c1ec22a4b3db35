#!/usr/bin/env python3
"""Tunes the kernels of BAT (github.com/NTNU-HPC-Lab/BAT) by their T1 files, and prints a table in Markdown.

    bench/evidence/bat_table.py HEDDLE BAT [--budget 120s] [--device cuda] [--only GEMM,nbody]

HEDDLE is the program, BAT the path of a checkout. Beside this script, bat/NAME.json says what is changed in a T1 file
(heddle's --with), and why. A kernel that heddle refuses is in the table with the reason.
"""
import argparse
import json
import pathlib
import subprocess

KERNELS = ["GEMM", "convolution", "nbody", "pnpoly", "hotspot"]
COLUMNS = ["kernel", "points", "allowed", "tried", "failed", "default us", "best us", "GFLOP/s", "GB/s", "compiling s",
           "measuring s", "verified against"]


def heddle(program, *arguments):
    """The document that a command prints, or the line with which it fails."""
    done = subprocess.run([program, *arguments, "--json"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return done.stderr.strip().splitlines()[-1]
    return json.loads(done.stdout)


def count(counted):
    return f"{'' if counted['exact'] else 'about '}{counted['points']:.0f}"


def row(options, name):
    file = pathlib.Path(options.bat) / "batbench" / "benchmarks" / name / f"{name}-CAFF.json"
    changes = pathlib.Path(__file__).resolve().parent / "bat" / f"{name}.json"
    described = ["--with", str(changes)] if changes.exists() else []
    seen = heddle(options.heddle, "inspect", str(file), *described, "--device", options.device)
    if isinstance(seen, str):
        return [name, "refused: " + seen.removeprefix("heddle: ").replace(str(file), file.name)]
    found = heddle(options.heddle, "tune", "--kernel", str(file), *described, "--device", options.device, "--profiles",
                   ":memory:", "--budget", options.budget, "--quiet")
    if isinstance(found, str):
        return [name, "refused: " + found.removeprefix("heddle: ").replace(str(file), file.name)]
    result = found["results"][0]
    tried = {status: number for status, number in result["statuses"].items()}
    failed = {status: number for status, number in tried.items()
              if status not in ("correct", "unverified", "pruned")}
    best = result["profile"]["microseconds_per_sample"] if result["profile"] else float("nan")
    default = result["baseline"]["microseconds_per_sample"] or float("nan")
    return [name, count(seen["before_constraints"]), count(seen["after_constraints"]), str(result["evaluations"]),
            ", ".join(f"{status} {number}" for status, number in failed.items()) or "none", f"{default:.1f}",
            f"{best:.1f}", f"{seen['work']['operations'] / best * 1e-3:.0f}",
            f"{seen['work']['bytes'] / best * 1e-3:.0f}", f"{result['seconds']['compiling']:.1f}",
            f"{result['seconds']['measuring']:.1f}", result["verified_against"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("heddle")
    parser.add_argument("bat")
    parser.add_argument("--budget", default="120s")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--only", default=",".join(KERNELS))
    options = parser.parse_args()
    print("| " + " | ".join(COLUMNS) + " |")
    print("|" + "---|" * len(COLUMNS))
    for name in options.only.split(","):
        cells = row(options, name)
        print("| " + " | ".join(cells + [""] * (len(COLUMNS) - len(cells))) + " |", flush=True)


if __name__ == "__main__":
    main()
