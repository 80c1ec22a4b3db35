#!/usr/bin/env python3
"""Prints as Markdown how fuzzy-sort compares with CUB and Thrust: fuzzy_sort and sort_beside of the same run.

    bench/fuzzy/sort_table.py fuzzy_sort.csv sort_beside.csv
"""
import csv
import sys

LAYOUTS = [("1", "numbers", "gather"), ("2", "cuts", "gather_cuts")]


def read(name):
    with open(name, encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if row["bits"]]


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    own = {(row["encoding"], row["bits"], row["cuts"], row["layout"]): float(row["microseconds"])
           for row in read(sys.argv[1])}
    print("| encoding | bits | cuts | layout | heddle, us | CUB pairs + gather, us | speed of it | "
          "thrust::sort_by_key, us | times as fast |")
    print("|---|---|---|---|---|---|---|---|---|")
    shares = []
    for row in read(sys.argv[2]):
        for layout, name, gather in LAYOUTS:
            time = own.get((row["encoding"], row["bits"], row["cuts"], layout))
            if time is None:
                continue
            beside, thrust = float(row["pairs"]) + float(row[gather]), float(row["thrust"])
            shares.append(beside / time)
            # Thrust's structures are numbers whose components lie next to each other.
            against = f"{thrust:.0f} | {thrust / time:.2f}" if layout == "1" else "– | –"
            print(f"| {row['encoding']} | {row['bits']} | {row['cuts']} | {name} | {time:.0f} | {beside:.0f} | "
                  f"{100 * beside / time:.0f} % | {against} |")
    if shares:
        print(f"\nLowest share of the speed of CUB and a gather: {100 * min(shares):.0f} %.")


if __name__ == "__main__":
    main()
