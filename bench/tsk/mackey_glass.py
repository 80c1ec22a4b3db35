#!/usr/bin/env python3
"""Prediction of the Mackey-Glass series as a table: x(t-18), x(t-12), x(t-6), x(t) and x(t+6).

dx/dt = 0.2 x(t - 17) / (1 + x(t - 17)^10) - 0.1 x(t), x(0) = 1.2 and 0 before, by Runge and Kutta's fourth order with a
step of 0.1, t = 118 to 1117 as in Jang (1993). Usage: mackey_glass.py TRAIN CHECK writes 500 rows to each file.
"""
import sys

STEP = 0.1
PER_UNIT = 10
DELAY = 17 * PER_UNIT


def series(last):
    values = [1.2]

    def delayed(step):  # half steps: the mean of both ends
        def known(i):
            return values[i] if i >= 0 else 0.0

        low = int(step // 1)
        return known(low) if step == low else 0.5 * (known(low) + known(low + 1))

    def slope(x, past):
        return 0.2 * past / (1 + past**10) - 0.1 * x

    for i in range(last * PER_UNIT):
        x = values[-1]
        a = slope(x, delayed(i - DELAY))
        b = slope(x + 0.5 * STEP * a, delayed(i - DELAY + 0.5))
        c = slope(x + 0.5 * STEP * b, delayed(i - DELAY + 0.5))
        d = slope(x + STEP * c, delayed(i - DELAY + 1))
        values.append(x + STEP * (a + 2 * b + 2 * c + d) / 6)
    return values[::PER_UNIT]


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: mackey_glass.py TRAIN CHECK")
    x = series(1124)
    for file, first in ((sys.argv[1], 118), (sys.argv[2], 618)):
        with open(file, "w", encoding="utf-8") as out:
            print("x(t-18),x(t-12),x(t-6),x(t),x(t+6)", file=out)
            for t in range(first, first + 500):
                print(",".join(f"{x[t + lag]:.9g}" for lag in (-18, -12, -6, 0, 6)), file=out)


if __name__ == "__main__":
    main()
