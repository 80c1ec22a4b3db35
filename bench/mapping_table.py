#!/usr/bin/env python3
"""Prints the JSON of mapping_table as Markdown: a table per number of outputs, geometric means, the worst cells."""

import json
import math
import sys


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def times(cell):
    """Median and spread by role, of what ran and was right."""
    found = {}
    for entry in cell["entries"]:
        if "median" in entry and entry["status"] == "correct":
            for role in entry["roles"]:
                found[role] = (entry["median"], entry["spread"], entry["configuration"])
    return found


def sizes(cell):
    return " x ".join(str(size) for size in cell["problem"].values())


def table(cells, roles):
    baselines = [role for role in roles if role != "chosen"]
    head = ["rules", "dim"] + roles + [f"{role} / chosen" for role in baselines] + ["chosen configuration"]
    yield "| " + " | ".join(head) + " |"
    yield "|" + "--:|" * (len(head) - 1) + "---|"
    for cell in cells:
        found = times(cell)
        row = [str(cell["problem"]["rules"]), str(cell["problem"]["dim"])]
        row += [f"{found[role][0]:.2f} ± {found[role][1]:.2f}" if role in found else "–" for role in roles]
        for role in baselines:
            both = role in found and "chosen" in found
            row.append(f"{found[role][0] / found['chosen'][0]:.2f}" if both else "–")
        row.append(f"`{found['chosen'][2]}`" if "chosen" in found else "–")
        yield "| " + " | ".join(row) + " |"


def summary(cells, roles):
    for role in roles:
        if role == "chosen":
            continue
        ratios = {}
        for cell in cells:
            found = times(cell)
            if role in found and "chosen" in found:
                ratios[sizes(cell)] = found[role][0] / found["chosen"][0]
        if ratios:
            worst = min(ratios, key=ratios.get)
            yield (f"- {role} / chosen: geometric mean {geometric_mean(list(ratios.values())):.2f} over {len(ratios)} "
                   f"cells, lowest {ratios[worst]:.2f} at {worst}")


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: mapping_table.py FILE.json")
    with open(sys.argv[1], encoding="utf-8") as file:
        document = json.load(file)
    cells = document["cells"]
    roles = []
    for cell in cells:
        for entry in cell["entries"]:
            roles += [role for role in entry["roles"] if role not in roles]
    order = {"fixed": 1, "default": 2, "chosen": 3}
    roles.sort(key=lambda role: (order.get(role, 0), role))

    print(f"{document['name']}, {document['driver']}, {document['compiler']}, {document['clocks']}, "
          f"{document['date']}, commit {document['commit'] or 'unknown'}. Medians of {document['rounds']} interleaved "
          f"repetitions ± half the interquartile range, {document['unit']}.")
    print(f"\n    {document['command']}\n")
    if "fixed" in document:
        fixed = document["fixed"]
        print(f"Fixed: `{fixed['configuration']}`, the best geometric mean of {fixed['candidates']} candidates; allowed "
              f"in {fixed['valid_cells']} cells, the default stood in elsewhere.\n")
    for outputs in sorted({cell["problem"]["outputs"] for cell in cells}):
        chosen = [cell for cell in cells if cell["problem"]["outputs"] == outputs]
        print(f"### L = {outputs}\n")
        print("\n".join(table(chosen, roles)) + "\n")
        print("\n".join(summary(chosen, roles)) + "\n")
    print("### All cells\n")
    print("\n".join(summary(cells, roles)))
    wrong = [(sizes(cell), entry) for cell in cells for entry in cell["entries"] if entry["status"] != "correct"]
    for size, entry in wrong:
        print(f"- {size}: `{entry['configuration']}` is not listed: {entry['status']}")
    if not document["complete"]:
        print("\nThe run was cut short: cells are missing.")


if __name__ == "__main__":
    main()
