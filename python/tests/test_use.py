"""The estimators in scikit-learn's tools, with processes, pickles, threads and Ctrl-C."""

import json
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import heddle


def test_learns_pendigits(pendigits):
    X, y, X_test, y_test = pendigits
    assert heddle.MlpClassifier(device="cpu", epochs=10).fit(X, y).score(X_test, y_test) > 0.93
    assert heddle.SonfinClassifier(device="cpu", max_rules=150, epochs=5).fit(X, y).score(X_test, y_test) > 0.9


def pipelines(pendigits):
    """For a set of classes and one of numbers: rows, answers, a pipeline with scaling, what to search, and what is reached."""
    digits = make_pipeline(MinMaxScaler(), heddle.MlpClassifier(device="cpu", scale="none", epochs=25))
    diabetes = make_pipeline(StandardScaler(), heddle.TskRegressor(device="cpu", rules=2, epochs=10, consequents="linear", ridge=0.01))
    return {
        "pendigits": (*pendigits[:2], digits, {"mlpclassifier__layers": [(2,), (32,)]}, 0.9),
        "diabetes": (*load_diabetes(return_X_y=True), diabetes, {"tskregressor__ridge": [1e3, 0.01]}, 0.3),
    }


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("data", ["pendigits", "diabetes"])
def test_grid_search_over_a_pipeline(pendigits, data, processes):
    X, y, pipeline, grid, reached = pipelines(pendigits)[data]
    search = GridSearchCV(pipeline, grid, cv=2, n_jobs=processes).fit(X, y)
    (name, values), = grid.items()
    assert search.best_params_ == {name: values[1]}
    assert search.best_score_ > reached
    assert search.score(X, y) > reached  # refitted, in this process


@pytest.mark.parametrize("data", ["pendigits", "diabetes"])
def test_cross_validation_of_a_pipeline(pendigits, data):
    X, y, pipeline, _, reached = pipelines(pendigits)[data]
    alone = cross_val_score(pipeline, X, y, cv=3)
    assert alone.mean() > reached
    assert np.array_equal(cross_val_score(pipeline, X, y, cv=3, n_jobs=2), alone)  # in processes, too


def test_interruption_in_a_process_of_its_own(tmp_path):
    """A real Ctrl-C: the model so far is in the estimator, and the interpreter goes on."""
    code = f"""
import signal, threading
import numpy as np
import heddle
signal.signal(signal.SIGINT, signal.default_int_handler)  # a program that was started in the background ignores it
X = np.random.default_rng(1).random((2000, 8), dtype=np.float32)
y = (X[:, 0] > X[:, 1]).astype(int)
model = heddle.MlpClassifier(device="cpu", epochs=1000000, report=1, log={str(tmp_path / "log")!r})
try:
    model.fit(X, y)
except KeyboardInterrupt:
    model.save({str(tmp_path / "m")!r})
    print(model.n_iter_, model.score(X, y), flush=True)
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        for _ in range(600):
            assert process.poll() is None
            if (tmp_path / "log").exists() and (tmp_path / "log").read_text().count('"event":"epoch"') >= 20:
                break
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    epochs, score = said.split()
    assert process.returncode == 0 and 20 <= int(epochs) < 1000000 and float(score) > 0.7
    assert heddle.MlpClassifier.load(tmp_path / "m", device="cpu").n_iter_ == int(epochs)
    assert json.loads((tmp_path / "log").read_text().splitlines()[-1])["ending"] == "stopped"


def test_errors_of_rows_that_are_not_learnt(pendigits):
    X, y, X_test, y_test = pendigits
    model = heddle.SonfinClassifier(device="cpu", max_rules=30, epochs=3).fit(X[:600], y[:600], eval_set=(X_test, y_test))
    assert [epoch["test_value"] for epoch in model.history_][-1] == pytest.approx(model.score(X_test, y_test))
    assert len(model.history_) == 3 and all(epoch["validation_value"] is None for epoch in model.history_)


def test_pickle_predicts_the_same(pendigits):
    X, y, X_test, _ = pendigits
    model = heddle.SonfinClassifier(device="cpu", max_rules=20, epochs=1).fit(X[:500], y[:500])
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(model.predict_proba(X_test), again.predict_proba(X_test))


def test_partial_fit_goes_on(pendigits):
    X, y, X_test, y_test = pendigits
    model = heddle.SonfinClassifier(device="cpu", max_rules=80)
    model.partial_fit(X[:200], y[:200], classes=range(10))
    before = model.score(X_test, y_test)
    for start in range(200, 4000, 400):
        model.partial_fit(X[start : start + 400], y[start : start + 400])
    assert model.n_iter_ == 11
    assert model.score(X_test, y_test) > before
    with pytest.raises(heddle.InputError, match="expected one of"):
        model.partial_fit(X[:3], [1, 2, 11])


def test_rules_in_words_and_numbers():
    X = np.linspace(0, 10, 200, dtype=np.float32).reshape(-1, 1)
    model = heddle.TskRegressor(device="cpu", sets=3, epochs=5).fit(X, 2 * X[:, 0])
    rules = model.rules_
    assert len(rules) == 3
    assert rules.means.shape == rules.deviations.shape == (3, 1)
    assert rules.consequents.shape == (3, 1, 1)
    assert str(rules).splitlines()[0].lstrip().startswith("1  IF input 1 is low THEN output 1 = ")
    assert np.all((rules.means > -5) & (rules.means < 15))


def test_classes_keep_scikit_learns_order():
    X = np.array([[0.0], [1.0], [2.0]] * 20, dtype=np.float32)
    y = np.array(["10", "9", "x"] * 20)[:60]
    numbers = np.array(["10", "9", "-1"] * 20)
    for answers in (y, numbers):
        model = heddle.MlpClassifier(device="cpu", epochs=200).fit(X, answers)
        assert list(model.classes_) == sorted(set(answers))
        assert np.array_equal(model.predict(X), answers)
        assert np.array_equal(model.classes_[np.argmax(model.predict_proba(X), axis=1)], answers)


def test_interruption_keeps_what_there_is(pendigits):
    X, y, X_test, y_test = pendigits
    model = heddle.SonfinClassifier(device="cpu", max_rules=500, epochs=100000)
    # A program that was started in the background ignores Ctrl-C.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(1.0, signal.raise_signal, [signal.SIGINT])
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)
    assert 0 <= model.n_iter_ < 100000
    assert model.score(X_test, y_test) > 0.1


def test_other_threads_run_while_it_learns(pendigits):
    X, y = pendigits[:2]
    turns, over = [], threading.Event()

    def count():
        while not over.is_set():
            turns.append(time.monotonic())
            time.sleep(0.001)

    counter = threading.Thread(target=count)
    counter.start()
    begun = time.monotonic()
    heddle.SonfinClassifier(device="cpu", max_rules=300, epochs=5).fit(X, y)
    ended = time.monotonic()
    over.set()
    counter.join()
    during = [turn for turn in turns if begun < turn < ended]
    assert len(during) > 10


def test_progress_bar(pendigits, capsys):
    X, y = pendigits[:2]
    heddle.MlpClassifier(device="cpu", epochs=4, report=1, validation=0.2, verbose=True).fit(X, y)
    bar = capsys.readouterr().err
    assert "MlpClassifier: 100%" in bar and "4/4" in bar and "validation error" in bar
    heddle.MlpClassifier(device="cpu", epochs=1).fit(X, y)
    assert capsys.readouterr() == ("", "")


def test_float32_is_not_copied(pendigits):
    from heddle._data import checked_rows

    rows = pendigits[0]
    assert np.shares_memory(rows, checked_rows(heddle.MlpClassifier(), rows, reset=True))


@pytest.mark.parametrize("classes", [[False, True], [1, 2], [1.0, 2.0], ["a", "b"], ["True", "b"]])
def test_classes_of_a_file(tmp_path, classes):
    X = np.random.default_rng(1).random((40, 3)).astype(np.float32)
    taught = heddle.MlpClassifier(device="cpu", epochs=1).fit(X, np.array(classes)[np.arange(40) % 2])
    taught.save(tmp_path / "m")
    read = heddle.MlpClassifier.load(tmp_path / "m", device="cpu")
    assert read.classes_.dtype == taught.classes_.dtype and read.classes_.tolist() == classes
    assert np.array_equal(read.predict(X), taught.predict(X))
