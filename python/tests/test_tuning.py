"""Tuning on a cluster of processes, one of which is killed in the middle."""

import os
import signal
import threading
import time

import pytest

from heddle import frames
from heddle.errors import UsageError
from heddle.reports.sources import program
from heddle.tuning import tune

pytestmark = pytest.mark.skipif(program() is None, reason="no program heddle")


def _problems(count):
    return [{"rules": 16 * (k + 1), "dim": 4, "outputs": 2} for k in range(count)]


def _text(problem):
    return " ".join(f"{name}={size}" for name, size in problem.items())


def test_one_process_keeps_a_verified_profile(tmp_path):
    (record,) = tune(_problems(1), family="sonfin-train", device="cpu", budget=2, profiles=tmp_path / "p")
    assert record["action"] == "added"
    kept = frames.profiles(tmp_path / "p")
    assert kept["problem"].tolist() == [_text(_problems(1)[0])]


def test_errors_are_the_line_of_the_program(tmp_path):
    with pytest.raises(UsageError, match="nonsense"):
        tune(_problems(1), family="nonsense", budget=1, profiles=tmp_path / "p")


def test_every_problem_is_tuned_though_a_worker_is_killed(tmp_path):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=3, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            pids = client.run(os.getpid)
            killed = []

            def kill():
                """Once it is at work."""
                while not killed:
                    busy = [worker for worker, keys in client.processing().items() if keys]
                    if len(busy) == 3:
                        time.sleep(0.5)
                        os.kill(pids[busy[0]], signal.SIGKILL)
                        killed.append(busy[0])
                    time.sleep(0.05)

            killer = threading.Thread(target=kill)
            killer.start()
            records = tune(_problems(6), family="sonfin-train", device="cpu", budget=2, profiles=tmp_path / "p", client=client)
            killer.join()
    assert len(killed) == 1
    assert [record["action"] for record in records] == ["added"] * 6
    assert sorted(frames.profiles(tmp_path / "p")["problem"]) == sorted(map(_text, _problems(6)))
