#!/usr/bin/env python3
"""The series c = a c + b of fuzzy numbers with 4 cuts, with the intervals of scikit-fuzzy: what fuzzy_cpu does.

    bench/fuzzy/skfuzzy_series.py [STEPS]

Needs scikit-fuzzy (PyPI). Its intervals are rounded to nearest: nothing makes its bounds safe.
"""
import sys
import time

import numpy
from skfuzzy import intervals

CUTS = 4


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    random = numpy.random.default_rng(5)
    middle = random.uniform(0.25, 0.75, (3, CUTS, 1))
    a, b, c = middle + random.uniform(0, 0.05, (3, CUTS, 1)) * numpy.array([-1.0, 1.0])
    start = time.perf_counter()
    for _ in range(steps):
        c = [intervals.addval(intervals.multval(a[cut], c[cut]), b[cut]) for cut in range(CUTS)]
    seconds = time.perf_counter() - start
    print(f"scikit-fuzzy: {1e-6 * steps * CUTS / seconds:.4f} million steps of a cut in a second")


if __name__ == "__main__":
    main()
