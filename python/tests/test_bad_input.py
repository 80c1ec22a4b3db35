"""What cannot be used is an exception with one line; the interpreter never dies."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import heddle

X = np.random.default_rng(1).random((40, 3)).astype(np.float32)
Y = np.arange(40) % 2


def new(**options):
    return heddle.MlpClassifier(device="cpu", epochs=2, **options)


def refused(call, kind, *parts):
    with pytest.raises(kind) as caught:
        call()
    line = str(caught.value)
    assert "\n" not in line
    for part in parts:
        assert part in line
    return line


def with_value(value, dtype=object):
    table = X.astype(dtype)
    table[4, 1] = value
    return table


def test_rows_name_the_column_and_the_remedy():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    missing = frame.copy()
    missing.loc[4, "b"] = np.nan
    refused(lambda: new().fit(missing, Y), heddle.InputError, "'b'", "row 4", "SimpleImputer")
    words = frame.astype(object)
    words.loc[4, "b"] = "red"
    refused(lambda: new().fit(words, Y), heddle.InputError, "'b'", "'red'", "OneHotEncoder")
    refused(lambda: new().fit(with_value(np.nan, np.float32), Y), heddle.InputError, "column 1", "row 4", "NaN")
    refused(lambda: new().fit(with_value(np.inf, np.float32), Y), heddle.InputError, "column 1", "inf")
    refused(lambda: new().fit(with_value(1e300, np.float64), Y), heddle.InputError, "column 1", "float32")
    refused(lambda: new().fit(with_value(None), Y), heddle.InputError, "column 1", "missing")
    refused(lambda: new().fit(with_value("word"), Y), heddle.InputError, "column 1", "'word'")


def test_shapes_and_kinds():
    refused(lambda: new().fit(scipy.sparse.csr_matrix(X), Y), heddle.InputError, "csr_matrix", "sparse")
    refused(lambda: new().fit(X, np.zeros(40)), heddle.InputError, "one class")
    refused(lambda: new().fit(X[:0], Y[:0]), heddle.InputError)
    refused(lambda: new().fit(X, Y[:-1]), heddle.InputError)
    refused(lambda: new().fit(X[0], Y), ValueError)
    model = new().fit(X, Y)
    refused(lambda: model.predict(X[:, :2]), ValueError, "2 features")
    refused(lambda: model.predict(scipy.sparse.csr_matrix(X)), heddle.InputError, "sparse")
    with pytest.raises(TypeError):
        new().fit(with_value({"a": 1}), Y)


def test_arrays_that_lie_otherwise_give_the_same():
    plain = new().fit(X, Y).predict_proba(X)
    wide = np.empty((40, 6), dtype=np.float32)
    wide[:, ::2] = X
    for other in (np.asfortranarray(X), wide[:, ::2], X[::-1][::-1], X.astype(np.float64)):
        assert np.array_equal(new().fit(other, Y).predict_proba(other), plain)


def test_options():
    refused(lambda: new(layers=(0,)).fit(X, Y), heddle.UsageError, "layers")
    refused(lambda: new(rule="magic").fit(X, Y), heddle.UsageError, "rule", "magic")
    refused(lambda: new(rate=object()).fit(X, Y), heddle.UsageError, "rate")
    refused(lambda: heddle.MlpClassifier(device="cuda:77").fit(X, Y), heddle.DeviceError)
    refused(lambda: new(profiles=__file__).fit(X, Y), heddle.ProfilesError)


def test_damaged_models(tmp_path):
    model = new().fit(X, Y)
    whole = model.model_.to_bytes()
    for cut in range(0, len(whole), max(1, len(whole) // 60)):
        refused(lambda cut=cut: heddle.Model.from_bytes(whole[:cut]), heddle.InputError)
        flipped = bytearray(whole)
        flipped[cut] ^= 0x55
        refused(lambda data=bytes(flipped): heddle.Model.from_bytes(data), heddle.InputError)
    refused(lambda: heddle.Model.load(str(tmp_path / "none")), heddle.InputError)
