"""Tuning on a cluster of processes, one of which is killed in the middle."""

import gzip
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import joblib
import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from heddle import MlpClassifier, SonfinClassifier, frames
from heddle.errors import InputError, UsageError
from heddle.reports.sources import program
from heddle.tuning import tune

from database import ROOT

pytestmark = pytest.mark.skipif(program() is None, reason="no program heddle")


def _problems(count):
    return [{"rules": 16 * (k + 1), "dim": 4, "outputs": 2} for k in range(count)]


def _text(problem):
    return " ".join(f"{name}={size}" for name, size in problem.items())


def test_one_process_keeps_a_verified_profile(tmp_path):
    (profile,) = tune(_problems(1), family="sonfin-train", device="cpu", budget=2, profiles=tmp_path / "p")
    assert profile["problem"] == _problems(1)[0]
    kept = frames.profiles(tmp_path / "p")
    assert kept["problem"].tolist() == [_text(_problems(1)[0])]
    assert kept["configuration"].tolist() == [profile["configuration"]]
    # A training of these sizes runs with it.
    X, y = load_iris(return_X_y=True)
    learner = SonfinClassifier(device="cpu", profiles=tmp_path / "p", max_rules=16, epochs=2, log=tmp_path / "log")
    learner.fit(X[:100], y[:100])
    uses = [use for line in (tmp_path / "log").read_text().splitlines() for use in json.loads(line).get("mappings", [])]
    assert {use["configuration"] for use in uses if use["tier"] == "exact"} == {profile["configuration"]}


def test_arguments_that_make_no_sense_are_one_line(tmp_path):
    sound = {"rules": 3, "dim": 2, "outputs": 2}
    wrong = [
        (dict(problems=[5]), "problems: found 5, expected a dict"),
        (dict(problems=5), "problems: found 5, expected a list"),
        (dict(problems=sound), "problems: found dict, expected a list"),
        (dict(problems=[sound | {"rules": 32.7}]), "problems: rules: found 32.7, expected a whole number"),
        (dict(problems=[{"\ud800": 3}]), "which is no Unicode text"),
        (dict(problems=["\ud800"], family=None), "problems: found .*, which is no Unicode text"),
        (dict(budget=-5), "budget: found -5, expected seconds above 0"),
        (dict(budget=float("nan")), "budget: found nan"),
        (dict(budget=None), "budget: found None"),
        (dict(seed=-1), "seed: found -1"),
        (dict(client=5), "client: found int, expected a dask.distributed.Client"),
        (dict(profiles=5), "profiles: found 5, expected a path"),
        (dict(device=5), "device: found 5"),
        (dict(strategy=5), "strategy: found 5"),
    ]
    for options, message in wrong:
        with pytest.raises(UsageError, match=message) as caught:
            tune(**{"problems": [sound], "family": "sonfin-train", "profiles": tmp_path / "p", **options})
        assert "\n" not in str(caught.value)


def test_errors_are_the_line_of_the_program(tmp_path):
    with pytest.raises(UsageError, match="nonsense"):
        tune(_problems(1), family="nonsense", budget=1, profiles=tmp_path / "p")


@contextmanager
def cluster_that_loses_a_worker(busy_at_once, pause):
    """A client of three processes, and a list that names the one that is killed once so many are at work, and `pause` seconds
    are over."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=3, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            pids, killed, over = client.run(os.getpid), [], threading.Event()

            def kill():
                while not killed and not over.is_set():
                    busy = [worker for worker, keys in client.processing().items() if keys]
                    if len(busy) >= busy_at_once:
                        time.sleep(pause)
                        os.kill(pids[busy[0]], signal.SIGKILL)
                        killed.append(busy[0])
                    time.sleep(0.01)

            killer = threading.Thread(target=kill)
            killer.start()
            try:
                yield client, killed
            finally:
                over.set()
                killer.join()


def test_every_problem_is_tuned_though_a_worker_is_killed(tmp_path):
    with cluster_that_loses_a_worker(3, 0.5) as (client, killed):
        found = tune(_problems(6), family="sonfin-train", device="cpu", budget=2, profiles=tmp_path / "p", client=client)
    assert len(killed) == 1
    assert [each["problem"] for each in found] == _problems(6)
    kept = frames.profiles(tmp_path / "p")
    assert sorted(kept["problem"]) == sorted(map(_text, _problems(6)))
    assert kept["worst_error"].notna().all()  # of its verification


def _recordings(folder, count):
    """Recorded spaces whose times are drawn, with the fastest configuration of each."""
    with gzip.open(ROOT / "tests" / "tuner" / "replay" / "data" / "cpu-sonfin-train.t4.json.gz") as stream:
        whole = json.load(stream)
    draw, files, fastest = random.Random(5), [], []
    for number in range(count):
        timed = [each for each in whole["results"] if each["invalidity"] == "correct"]
        times = draw.sample(range(1000, 100000), len(timed))
        for each, time_of in zip(timed, times):
            each["measurements"] = [{**each["measurements"][0], "value": time_of / 1000}]
            each["times"]["runtimes"] = [time_of / 1000] * 3
        files.append(folder / f"space-{number}.t4.json")
        files[-1].write_text(json.dumps(whole))
        best = timed[times.index(min(times))]["configuration"]
        fastest.append(" ".join(f"{name}={value}" for name, value in best.items()))
    return files, fastest


def _winners(database):
    kept = frames.profiles(database)
    return dict(zip(kept["family"], zip(kept["configuration"], kept["microseconds"])))


def test_a_cluster_finds_the_winners_of_one_process(tmp_path):
    """Recorded times and exhaustive search, so that nothing is left to chance; a worker dies all the same."""
    files, fastest = _recordings(tmp_path, 9)
    how = {"strategy": "exhaustive", "budget": 1e6}
    alone = tune(files, profiles=tmp_path / "one", **how)
    with cluster_that_loses_a_worker(1, 0.0) as (client, killed):
        shared = tune(files, profiles=tmp_path / "many", client=client, **how)
    assert len(killed) == 1
    winners = _winners(tmp_path / "one")
    assert winners == _winners(tmp_path / "many") and len(winners) == 9
    assert [each["configuration"] for each in alone] == [each["configuration"] for each in shared] == fastest


def test_estimators_learn_on_workers_of_a_cluster():
    """Under joblib's Dask backend, as they are; in processes that get pickles."""
    distributed = pytest.importorskip("distributed")
    X, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), MlpClassifier(device="cpu", scale="none", epochs=20))
    alone = cross_val_score(pipeline, X, y, cv=3)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        with distributed.Client(cluster), joblib.parallel_backend("dask"):
            shared = cross_val_score(pipeline, X, y, cv=3, n_jobs=2)
    assert np.array_equal(alone, shared)


def _measured(database) -> bool:
    """Whether something was measured. A database that is being made is none yet."""
    try:
        return len(frames.measurements(database)) > 0
    except InputError:
        return False


def test_interruption_keeps_what_there_is(tmp_path):
    """A real Ctrl-C, in a process of its own, once something was measured."""
    code = f"""
import heddle, signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a program that was started in the background ignores it
try:
    heddle.tune({_problems(30)!r}, family="sonfin-train", device="cpu", budget=600, profiles={str(tmp_path / "p")!r})
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        for _ in range(600):
            assert process.poll() is None
            if _measured(tmp_path / "p"):
                break
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=120)
    finally:
        process.kill()
    assert said == "interrupted\n"
    kept = frames.measurements(tmp_path / "p")
    assert 1 <= len(kept) and kept["problem"].nunique() < 30
    # The same call goes on: what was measured is not measured again.
    first = _problems(30)[:1]
    tune(first, family="sonfin-train", device="cpu", budget=600, profiles=tmp_path / "p")
    tried = frames.measurements(tmp_path / "p")
    tried = tried[tried["problem"] == _text(first[0])]
    again = kept[kept["problem"] == _text(first[0])]
    assert len(again) and set(again["id"]) <= set(tried["id"])


def test_recorded_spaces_take_the_place_of_a_device(tmp_path):
    (file,), _ = _recordings(tmp_path, 1)
    with pytest.raises(UsageError, match="^family: "):
        tune([file], family="sonfin-train", profiles=tmp_path / "p")
    with pytest.raises(UsageError, match="^device: "):
        tune([file], device="cpu", profiles=tmp_path / "p")
    with pytest.raises(UsageError, match="^family: found none"):
        tune(_problems(1), profiles=tmp_path / "p")
    with pytest.raises(InputError, match="No such file"):
        tune([tmp_path / "none"], profiles=tmp_path / "p")
    (tmp_path / "damaged").write_text("{")
    with pytest.raises(InputError):
        tune([tmp_path / "damaged"], profiles=tmp_path / "p")
