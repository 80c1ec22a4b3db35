"""Tests of whole training runs that are measured in several calls: python3 resumed_runs_test.py BUILD.

gpu_evidence runs them on the CPU with tiny sizes. A time limit of 0 s lets each call begin one run.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = None


class Resumed(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name in ("bench", "cli"):  # the scripts leave profiles and compiled code in a folder of BUILD
            (self.folder / name).symlink_to(BUILD / name)
        self.output = self.folder / "results"

    def call(self, commit, seconds=0):
        """The document after a call, and the exit code."""
        environment = os.environ | {"TINY": "1", "RUN_SECONDS": str(seconds), "HEDDLE_COMMIT": commit}
        script = ROOT / "bench" / "evidence" / "gpu_evidence"
        done = subprocess.run([script, self.folder, self.output, ROOT / "bench" / "data", "runs"], env=environment,
                              capture_output=True, text=True, check=False)
        self.said = done.stdout + done.stderr
        return json.loads((self.output / "whole_runs.json").read_text()), done.returncode

    def test_a_run_that_was_cut_short_goes_on(self):
        first, code = self.call("a")
        self.assertEqual((code, first["complete"]), (1, False), self.said)
        self.assertIn("its time limit was reached", self.said)
        self.assertEqual([entry["name"] for entry in first["sets"]], ["random-32"])
        second, code = self.call("a")
        self.assertEqual((code, second["complete"]), (0, True), self.said)
        self.assertEqual([entry["name"] for entry in second["sets"]], ["random-32", "random-256"])
        self.assertEqual(second["sets"][0], first["sets"][0])  # seconds included: it was not run again
        third, code = self.call("a")
        self.assertEqual((code, third["sets"]), (0, second["sets"]), self.said)

    def test_runs_of_another_commit_are_not_mixed_in(self):
        self.call("a", seconds=60)
        other, code = self.call("b")
        self.assertEqual((code, other["commit"], other["complete"]), (1, "b", False), self.said)
        self.assertEqual([entry["name"] for entry in other["sets"]], ["random-32"])
        origins = json.loads((self.output / "origins.json").read_text())
        self.assertEqual(origins["files"]["whole_runs.json"]["commit"], "b")

    def test_of_several_runs_on_the_cpu_the_fastest_is_kept(self):
        file = self.folder / "runs.json"
        done = subprocess.run([BUILD / "bench" / "whole_runs", "--device", "cpu", "--data", ROOT / "bench" / "data", "--profiles",
                               self.folder / "profiles.sqlite", "--ways", "cpu", "--sets", "random-32", "--rows", "150",
                               "--cpu-runs", "3", "--output", file], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        run = json.loads(file.read_text())["sets"][0]["runs"]["cpu"]
        self.assertEqual(len(run["seconds_of_runs"]), 3)
        self.assertEqual(min(run["seconds_of_runs"]), sum(epoch["seconds"] for epoch in run["epochs"]))

    def test_runs_with_other_options_are_not_mixed_in(self):
        program = [BUILD / "bench" / "whole_runs", "--device", "cpu", "--data", ROOT / "bench" / "data", "--profiles",
                   self.folder / "profiles.sqlite", "--commit", "a", "--ways", "cpu", "--output", self.folder / "runs.json"]
        for rows, sets in (("150", "random-32"), ("160", "random-256")):
            done = subprocess.run([*program, "--sets", sets, "--rows", rows], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
        sets = json.loads((self.folder / "runs.json").read_text())["sets"]
        self.assertEqual([(entry["name"], entry["rows"]) for entry in sets], [("random-256", 160)])

    def test_runs_on_the_cpu_name_their_threads(self):
        document, _ = self.call("a")
        run = document["sets"][0]["runs"]["cpu"]
        self.assertIn(f" threads={run['threads']} ", run["configuration"] + " ")
        self.assertGreater(run["threads"], 0)
        self.assertGreater(run["wall_seconds"], sum(epoch["seconds"] for epoch in run["epochs"]))


if __name__ == "__main__":
    BUILD = pathlib.Path(sys.argv.pop()).resolve()
    unittest.main()
