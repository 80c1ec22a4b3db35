"""Trains on handwritten digits, and a system of two inputs whose rules can be read."""

import sys

import numpy as np
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from heddle import SonfinClassifier, TskRegressor

folder = sys.argv[1] if len(sys.argv) > 1 else "bench/data/pendigits"
train = np.loadtxt(f"{folder}/pendigits.tra.gz", delimiter=",", dtype=np.float32)
test = np.loadtxt(f"{folder}/pendigits.tes.gz", delimiter=",", dtype=np.float32)

digits = SonfinClassifier(max_rules=300, epochs=10, device="cpu").fit(train[:, :-1], train[:, -1])
print(f"accuracy {digits.score(test[:, :-1], test[:, -1]):.4f} with {len(digits.rules_)} rules")

pipeline = make_pipeline(MinMaxScaler(), SonfinClassifier(max_rules=100, epochs=3, scale="none", device="cpu"))
print("cross-validated:", cross_val_score(pipeline, train[:, :-1], train[:, -1], cv=3).round(3))

x = np.random.default_rng(1).random((500, 2), dtype=np.float32)
print(TskRegressor(sets=2, device="cpu").fit(x, x[:, 0] * (1 - x[:, 1])).rules_)
