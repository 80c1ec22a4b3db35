#!/usr/bin/env python3
"""The truck backer-upper controller of Kosko as a table: x, phi, steering angle.

A Mamdani system (Kosko, Neural Networks and Fuzzy Systems, 1992, chapter 9): 5 sets on the position x in 0..100, 7 sets
on the angle phi in -90..270 degrees, 7 sets on the steering angle in -30..30 degrees, 35 rules; minimum as AND and as
implication, maximum over the rules, centroid. Usage: truck.py POINTS > truck.csv, for POINTS x POINTS rows.
"""
import sys

# Trapezoids: where they rise and fall.
X = {
    "LE": (-1, 0, 10, 35), "LC": (30, 40, 40, 50), "CE": (45, 50, 50, 55),
    "RC": (50, 60, 60, 70), "RI": (65, 90, 100, 101),
}
PHI = {
    "RB": (-100, -45, -45, 9), "RU": (-9, 22.5, 22.5, 54), "RV": (27, 58.5, 58.5, 90),
    "VE": (72, 90, 90, 108), "LV": (90, 121.5, 121.5, 153), "LU": (126, 157.5, 157.5, 189), "LB": (171, 225, 225, 280),
}
STEER = {
    "NB": (-31, -30, -30, -15), "NM": (-25, -15, -15, -5), "NS": (-12, -6, -6, 0), "ZE": (-5, 0, 0, 5),
    "PS": (0, 6, 6, 12), "PM": (5, 15, 15, 25), "PB": (15, 30, 30, 31),
}
# Rows phi, columns x, both in the order of the sets above.
RULES = [
    "PS PM PM PB PB",
    "NS PS PM PB PB",
    "NM NS PS PM PB",
    "NM NM ZE PM PM",
    "NB NM NS PS PM",
    "NB NB NM NS PS",
    "NB NB NM NM NS",
]
STEPS = 241  # of the centroid's integral: every quarter of a degree


def membership(trapezoid, value):
    a, b, c, d = trapezoid
    if b <= value <= c:
        return 1.0
    if value < b:
        return max(0.0, (value - a) / (b - a)) if b > a else 0.0
    return max(0.0, (d - value) / (d - c)) if d > c else 0.0


ANGLES = [-30 + 60 * i / (STEPS - 1) for i in range(STEPS)]
SHAPES = {name: [membership(shape, angle) for angle in ANGLES] for name, shape in STEER.items()}


def steering(x, phi):
    firing = dict.fromkeys(STEER, 0.0)
    at_x = [membership(shape, x) for shape in X.values()]
    at_phi = [membership(shape, phi) for shape in PHI.values()]
    for row, consequents in enumerate(RULES):
        for column, name in enumerate(consequents.split()):
            firing[name] = max(firing[name], min(at_phi[row], at_x[column]))
    area = moment = 0.0
    fired = [(weight, SHAPES[name]) for name, weight in firing.items() if weight > 0]
    for i, angle in enumerate(ANGLES):
        height = max((min(weight, shape[i]) for weight, shape in fired), default=0.0)
        area += height
        moment += height * angle
    return moment / area if area > 0 else 0.0


def main():
    if len(sys.argv) != 2 or not sys.argv[1].isdigit() or int(sys.argv[1]) < 2:
        sys.exit("usage: truck.py POINTS")
    points = int(sys.argv[1])
    print("x,phi,steering")
    for i in range(points):
        x = 100 * i / (points - 1)
        for j in range(points):
            phi = -90 + 360 * j / (points - 1)
            print(f"{x:.9g},{phi:.9g},{steering(x, phi):.9g}")


if __name__ == "__main__":
    main()
