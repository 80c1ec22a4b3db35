#!/usr/bin/env python3
"""Prints the lines of mapping_table as Markdown in the shape of the two published tables of kernel times: time against
rules at some numbers of inputs, and against inputs at some numbers of rules.

    bench/evidence/lines_table.py mapping_lines.json

Twelve sizes a line where the published tables have 32. Microseconds per sample, rule decision included.
"""
import sys

import mapping_table

ROLES = {"gpu-fnn": "GPU-FNN", "atm": "ATM", "best captured": "best captured", "fixed": "fixed", "chosen": "heddle", "floor": "floor"}
NAMES = ("rules", "dim")


def table(found, fixed, values):
    """A row for each size that all of `values` have; `fixed` is the place of theirs: 0 rules, 1 inputs."""
    def cell(value, size):
        return found.get((value, size, 1) if fixed == 0 else (size, value, 1), {})

    roles = {role: name for role, name in ROLES.items() if any(role in cell for cell in found.values())}
    sizes = sorted({key[1 - fixed] for key in found if key[2] == 1})
    sizes = [size for size in sizes if all(cell(value, size) for value in values)]
    yield (f"| {NAMES[1 - fixed]} | "
           + " | ".join(f"{NAMES[fixed]} {value}: {role}" for value in values for role in roles.values()) + " |")
    yield "|" + "--:|" * (1 + len(values) * len(roles))
    for size in sizes:
        times = [mapping_table.digits(cell(value, size)[role][0]) if role in cell(value, size) else "–"
                 for value in values for role in roles]
        yield f"| {size} | " + " | ".join(times) + " |"


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: lines_table.py mapping_lines.json")
    document, found = mapping_table.load(sys.argv[1])
    print(f"{document['name']}, {document['date']}, commit {document['commit'] or 'unknown'}.\n")
    print("Best captured: GPU-FNN, ATM's winner, or what heddle launches for every sample, captured in a graph.\n"
          if any("best captured" in cell for cell in found.values()) else "", end="")
    print("\n".join(table(found, 1, (32, 512, 1024))) + "\n")
    print("\n".join(table(found, 0, (256, 512, 768, 1024))))


if __name__ == "__main__":
    main()
