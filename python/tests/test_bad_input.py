"""What cannot be used is an exception with one line; the interpreter never dies."""

import gc
import threading

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import heddle

X = np.random.default_rng(1).random((40, 3)).astype(np.float32)
Y = np.arange(40) % 2


def new(epochs=2, **options):
    return heddle.MlpClassifier(device="cpu", epochs=epochs, **options)


def numeric():
    return heddle.TskRegressor(device="cpu", epochs=2, rules=2)


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


def test_object_arrays():
    """Numbers in one are numbers; anything else is named, with its column."""
    assert np.array_equal(new().fit(X.astype(object), Y).predict(X), new().fit(X, Y).predict(X))
    for thing, name in (({"a": 1}, "dict"), ([1, 2], "list"), (object(), "object")):
        table = X.astype(object)
        table[4, 1] = thing
        line = refused(lambda table=table: new().fit(table, Y), heddle.InputError, name, "column 1", "row 4")
        assert "FunctionTransformer" in line
    with pytest.raises(TypeError):  # as of scikit-learn's own estimators
        new().fit(with_value({"a": 1}), Y)
    refused(lambda: new().fit(X, np.array(["a", 1] * 20, dtype=object)), heddle.InputError, "y", "int, str")
    refused(lambda: new().fit(X, np.array([{}] * 40, dtype=object)), heddle.InputError, "y")
    refused(lambda: numeric().fit(X, np.array(["a", "b"] * 20)), heddle.InputError, "y", "numbers")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300])
def test_numbers_that_are_none(value):
    at_predict = new().fit(X, Y)
    bad = X.astype(np.float64)
    bad[4, 1] = value
    for call in (lambda: new().fit(bad, Y), lambda: at_predict.predict(bad), lambda: at_predict.predict_proba(bad),
                 lambda: at_predict.partial_fit(bad, Y), lambda: new().fit(X, Y, eval_set=(bad, Y))):
        refused(call, heddle.InputError, "X", "column 1", "row 4")
    refused(lambda: numeric().fit(X, bad[:, 1]), heddle.InputError, "y")
    refused(lambda: numeric().fit(X, bad), heddle.InputError, "y")


def test_another_number_of_features():
    model = new().fit(X, Y)
    for call in (model.predict, model.predict_proba, lambda x: model.score(x, Y), lambda x: model.partial_fit(x, Y),
                 lambda x: new().fit(X, Y, eval_set=(x, Y))):
        refused(lambda call=call: call(X[:, :2]), heddle.InputError, "2 features", "3 features")
    refused(lambda: model.model_.predict(np.ascontiguousarray(X[:, :2])), heddle.InputError, "2 inputs", "3")
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    refused(lambda: new().fit(frame, Y).predict(frame[["b", "a", "c"]]), heddle.InputError, "feature names")


@pytest.mark.parametrize("estimator", [heddle.SonfinClassifier, heddle.TskClassifier, heddle.MlpClassifier])
def test_one_class(estimator):
    refused(lambda: estimator(device="cpu").fit(X, np.zeros(40)), heddle.InputError, "one class", "0.0")
    refused(lambda: estimator(device="cpu").fit(X, ["a"] * 40), heddle.InputError, "one class", "'a'")


def test_one_class_online():
    refused(lambda: new().partial_fit(X, np.ones(40), classes=[1]), heddle.InputError, "one class", "(1)")


@pytest.mark.parametrize("form", ["csr_matrix", "csc_matrix", "coo_matrix", "bsr_matrix", "dok_matrix", "lil_matrix", "csr_array"])
def test_sparse_matrices_are_refused_by_name(form):
    sparse = getattr(scipy.sparse, form)(X)
    model = new().fit(X, Y)
    for call in (lambda: new().fit(sparse, Y), lambda: model.predict(sparse), lambda: model.partial_fit(sparse, Y),
                 lambda: numeric().fit(sparse, Y), lambda: new().fit(X, Y, eval_set=(sparse, Y))):
        refused(call, heddle.InputError, form, "sparse", "toarray")


def test_empty_arrays():
    model = new().fit(X, Y)
    refused(lambda: new().fit(X[:0], Y[:0]), heddle.InputError, "0 sample")
    refused(lambda: new().fit(X[:, :0], Y), heddle.InputError, "0 feature")
    refused(lambda: new().fit([], []), heddle.InputError)
    refused(lambda: new().fit(None, Y), heddle.InputError)
    refused(lambda: new().fit(X, None), heddle.InputError, "y")
    refused(lambda: model.predict(X[:0]), heddle.InputError, "0 sample")
    refused(lambda: model.model_.predict(X[:, :0]), heddle.InputError, "0 inputs")
    assert model.model_.predict(X[:0]).shape == (0, 2)


class OnADevice:
    """What CuPy's arrays say of themselves."""

    shape, ndim, dtype = (40, 3), 2, np.dtype("float32")
    __cuda_array_interface__ = {"shape": (40, 3), "typestr": "<f4", "data": (4096, False), "version": 3}

    def __len__(self):
        return 40

    def __array__(self, *_, **__):
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")


class OnlyDlpack(OnADevice):
    """What arrays of JAX and others say."""

    __cuda_array_interface__ = property(lambda self: (_ for _ in ()).throw(AttributeError()))

    def __dlpack_device__(self):
        return (2, 0)


@pytest.mark.parametrize("array", [OnADevice(), OnlyDlpack()])
def test_arrays_on_another_device(array):
    model = new().fit(X, Y)
    for call in (lambda: new().fit(array, Y), lambda: new().fit(X, array), lambda: model.predict(array)):
        refused(call, heddle.InputError, "another device", ".get()")
    refused(lambda: model.model_.predict(array), heddle.InputError, "host memory")


def test_arrays_of_the_array_api():
    strict = pytest.importorskip("array_api_strict")
    plain = new().fit(X, Y).predict_proba(X)
    assert np.array_equal(new().fit(strict.asarray(X), strict.asarray(Y)).predict_proba(strict.asarray(X)), plain)
    elsewhere = strict.asarray(X, device=strict.Device("device1"))
    refused(lambda: new().fit(elsewhere, Y), heddle.InputError, "device1")


def test_masked_values_are_missing():
    refused(lambda: new().fit(np.ma.masked_array(X, X > 0.5), Y), heddle.InputError, "masked", "SimpleImputer")


def test_an_array_that_is_freed_while_a_call_is_under_way():
    """The call holds it: what remains of the caller's names does not matter."""
    plain = new(epochs=300).fit(X, Y).predict_proba(X)
    rows = [X.copy()]
    model, began = new(epochs=300), threading.Event()

    def learn():
        x = rows.pop()
        began.set()
        model.fit(x, Y.copy())

    thread = threading.Thread(target=learn)
    thread.start()
    began.wait()
    while thread.is_alive():
        gc.collect()
        np.full_like(X, np.nan)  # memory of the same size, which would land where a freed array was
    thread.join()
    assert np.array_equal(model.predict_proba(X), plain)


def test_errors_at_predict_leave_the_model_as_it_was():
    model = new().fit(X, Y)
    before = model.predict_proba(X)
    for bad in (X[:, :2], X * np.nan, X[:0], scipy.sparse.csr_matrix(X), None, "word"):
        refused(lambda bad=bad: model.predict(bad), heddle.InputError)
    assert np.array_equal(model.predict_proba(X), before)


def test_arrays_that_lie_otherwise_give_the_same():
    plain = new().fit(X, Y).predict_proba(X)
    wide = np.empty((40, 6), dtype=np.float32)
    wide[:, ::2] = X
    for other in (np.asfortranarray(X), wide[:, ::2], X[::-1][::-1], X.astype(np.float64)):
        assert np.array_equal(new().fit(other, Y).predict_proba(other), plain)


def test_options():
    refused(lambda: heddle.MlpClassifier(device=3).fit(X, Y), heddle.UsageError, "device")
    refused(lambda: new(profiles=3).fit(X, Y), heddle.UsageError, "profiles")
    refused(lambda: new(log=3).fit(X, Y), heddle.UsageError, "log")
    refused(lambda: new(random_state=-1).fit(X, Y), heddle.UsageError, "random_state:")
    refused(lambda: new(weight_decay=-1).fit(X, Y), heddle.UsageError, "weight_decay:")
    refused(lambda: new().fit(X, Y, eval_set=X), heddle.InputError, "eval_set")
    refused(lambda: new().fit(X, Y, eval_set=(X, Y + 5)), heddle.InputError, "eval_set y", "5")
    refused(lambda: new(layers=(0,)).fit(X, Y), heddle.UsageError, "layers")
    refused(lambda: new(rule="magic").fit(X, Y), heddle.UsageError, "rule", "magic")
    refused(lambda: new(rate=object()).fit(X, Y), heddle.UsageError, "rate")
    refused(lambda: heddle.MlpClassifier(device="cuda:77").fit(X, Y), heddle.DeviceError)
    refused(lambda: new(profiles=__file__).fit(X, Y), heddle.ProfilesError)


def test_numbers_that_are_none_for_a_model():
    for estimator in (heddle.MlpClassifier, heddle.SonfinClassifier, heddle.TskClassifier):
        model = estimator(device="cpu", epochs=1).fit(X, Y).model_
        for value in (np.nan, np.inf):
            bad = X.copy()
            bad[4, 1] = value
            refused(lambda bad=bad, model=model: model.predict(bad, source="Z"), heddle.InputError, "Z: found", "row 4, column 1")


def test_models_take_any_path(tmp_path):
    model = new().fit(X, Y).model_
    model.save(tmp_path / "m")
    for file in (tmp_path / "m", str(tmp_path / "m"), bytes(tmp_path / "m")):
        assert np.array_equal(heddle.Model.load(file).predict(X), model.predict(X))
    for wrong in (3, None, [], "\ud800"):
        refused(lambda wrong=wrong: heddle.Model.load(wrong), heddle.UsageError, "file: found", "expected a path")
        refused(lambda wrong=wrong: model.save(wrong), heddle.UsageError, "file: found", "expected a path")
    for wrong in ("abc", None, 3):
        refused(lambda wrong=wrong: heddle.Model.from_bytes(wrong), heddle.UsageError, "data: found", "expected bytes")
    refused(lambda: model.predict(None), heddle.InputError, "X: found NoneType")
    refused(lambda: model.predict(X, device=3), heddle.UsageError, "device: found int")
    refused(lambda: model.predict(X, profiles=3), heddle.UsageError, "profiles: found int")
    refused(lambda: model.predict(X, source="\ud800"), heddle.UsageError, "source: found")


def test_texts_that_are_no_unicode():
    bad = "\ud800"
    refused(lambda: heddle.MlpClassifier(device=bad).fit(X, Y), heddle.UsageError, "device: found", "no Unicode text")
    refused(lambda: new(rule=bad).fit(X, Y), heddle.UsageError, "rule: found", "no Unicode text")
    refused(lambda: new().fit(X, [bad, "b"] * 20), heddle.UsageError, "y: found", "no Unicode text")
    frame = pd.DataFrame(X, columns=pd.Index(["a", bad, "c"], dtype=object))
    refused(lambda: new().fit(frame, Y), heddle.UsageError, "feature_names_in_: found", "no Unicode text")
    refused(lambda: heddle.profiles(3), heddle.UsageError, "database: found 3, expected a path")
    refused(lambda: heddle.report(3), heddle.UsageError, "sources: found 3, expected a path")


def test_damaged_models(tmp_path):
    model = new().fit(X, Y)
    whole = model.model_.to_bytes()
    for cut in range(0, len(whole), max(1, len(whole) // 60)):
        refused(lambda cut=cut: heddle.Model.from_bytes(whole[:cut]), heddle.InputError)
        flipped = bytearray(whole)
        flipped[cut] ^= 0x55
        refused(lambda data=bytes(flipped): heddle.Model.from_bytes(data), heddle.InputError)
    refused(lambda: heddle.Model.load(str(tmp_path / "none")), heddle.InputError)
