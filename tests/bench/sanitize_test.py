"""Tests of bench/evidence/sanitize_evidence with a compute-sanitizer that was made up: what it is asked and what is kept."""
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "bench" / "evidence" / "sanitize_evidence"
SPACE = ROOT / "kernels" / "mlp" / "cuda" / "train_space.cpp"
#: Notes how it was called, finds something if the shape is that of FAULTY.
TOOL = """#!/usr/bin/env bash
[ "$1" != --version ] || { echo 'Version made up'; exit; }
echo "${HEDDLE_CONTRACT_ONLY:-every} ${HEDDLE_CONTRACT_CASES} $* except ${HEDDLE_CONTRACT_EXCEPT:-nothing}" >>"$CALLS"
echo 'cuda:0 (a card): 3 of 3 configurations tried'
[ "${HEDDLE_CONTRACT_ONLY:-every}" != "${FAULTY:-}" ] || { echo '========= ERROR SUMMARY: 2 errors'; exit 9; }
echo '========= ERROR SUMMARY: 0 errors'
"""


class Sanitize(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.calls = self.folder / "calls"
        tool = self.folder / "compute-sanitizer"
        tool.write_text(TOOL)
        tool.chmod(0o755)

    def run_it(self, *parts, commit="a", **more):
        """What the tool was asked, and the exit code."""
        self.calls.write_text("")
        environment = os.environ | {"PATH": f"{self.folder}:{os.environ['PATH']}", "CALLS": str(self.calls),
                                    "SHAPES": "storage=halves scheme=cluster every", "HEDDLE_COMMIT": commit} | more
        done = subprocess.run([SCRIPT, self.folder, self.folder / "results", *parts], env=environment, capture_output=True,
                              text=True, check=False)
        return self.calls.read_text().splitlines(), done.returncode

    def kept(self, tool):
        return (self.folder / "results" / f"sanitize_{tool}.txt").read_text()

    def test_each_shape_is_asked_for_by_its_word_and_all_families_without_one(self):
        calls, code = self.run_it("memcheck")
        self.assertEqual(code, 0)
        self.assertEqual([call.split()[:6] for call in calls],
                         [[shape, most, "--tool", "memcheck", "--report-api-errors", "no"]
                          for shape, most in (("storage=halves", "16"), ("scheme=cluster", "16"), ("every", "48"))])
        self.assertRegex(self.kept("memcheck"), r"^# commit a\n(.|\n)*== storage=halves, .* exit code 0, \d+ s\n"
                         r"cuda:0 \(a card\): 3 of 3 configurations tried\n========= ERROR SUMMARY: 0 errors\n")
        origins = json.loads((self.folder / "results" / "origins.json").read_text())
        self.assertEqual(origins["files"]["sanitize_memcheck.txt"]["commit"], "a")

    def test_every_tool_has_a_file(self):
        self.run_it()
        for tool in ("memcheck", "racecheck", "synccheck"):
            self.assertIn("== every, ", self.kept(tool))

    def test_synccheck_has_room_for_many_barriers_but_not_of_every_launch(self):
        calls, _ = self.run_it("synccheck", SHAPES="scheme=cluster kernels=")
        self.assertIn("--num-cuda-barriers 16384", calls[0])
        self.assertRegex(calls[0], "except kernels=$")
        self.assertNotIn("--num-cuda-barriers", calls[1])
        self.assertRegex(calls[1], "except scheme=graph$")
        for call in self.run_it("memcheck")[0]:
            self.assertRegex(call, "except nothing$")
            self.assertNotIn("--num-cuda-barriers", call)

    def test_racecheck_leaves_out_teams_of_warps_whose_barriers_it_does_not_know(self):
        values = re.search(r'"pass_rows",\s*\.values = numbers\(\{([^}]*)\}\)', SPACE.read_text())[1].split(",")
        words = ",".join(f"pass_rows={value.strip()}" for value in values if int(value) > 0)
        for call in self.run_it("racecheck")[0]:
            self.assertRegex(call, f"except {words}$")
            self.assertNotIn("--num-cuda-barriers", call)
        self.assertIn(f"without: {words}\n", self.kept("racecheck"))

    def test_what_is_left_out_can_be_chosen_and_nothing_be_left_out(self):
        for words, said in (("scheme=grid", "scheme=grid"), ("", "nothing")):
            for tool in ("racecheck", "synccheck"):
                for call in self.run_it(tool, HEDDLE_CONTRACT_EXCEPT=words, commit=words + tool)[0]:
                    self.assertRegex(call, f"except {said}$")

    def test_a_finding_fails_the_part_and_only_that_shape_is_tried_again(self):
        _, code = self.run_it("racecheck", FAULTY="scheme=cluster")
        self.assertEqual(code, 1)
        self.assertRegex(self.kept("racecheck"), r"== scheme=cluster, .* exit code 9, (.|\n)*2 errors")
        calls, code = self.run_it("racecheck")
        self.assertEqual([call.split()[0] for call in calls], ["scheme=cluster"])
        self.assertEqual(code, 0)
        self.assertEqual(self.kept("racecheck").count("exit code 0,"), 3)
        self.assertNotIn("exit code 9", self.kept("racecheck"))

    def test_another_commit_begins_anew(self):
        self.run_it("synccheck")
        self.assertEqual(self.run_it("synccheck")[0], [])
        self.assertEqual(len(self.run_it("synccheck", commit="b")[0]), 3)
        self.assertTrue(self.kept("synccheck").startswith("# commit b\n"))

    def test_what_the_time_does_not_do_for_is_named_and_done_by_the_next_call(self):
        calls, code = self.run_it("memcheck", HEDDLE_SANITIZER_LIMIT="0")
        self.assertEqual((calls, code), ([], 1))
        self.assertIn("== scheme=cluster: not tried, the time limit was reached", self.kept("memcheck"))
        self.assertEqual(len(self.run_it("memcheck")[0]), 3)


if __name__ == "__main__":
    unittest.main()
