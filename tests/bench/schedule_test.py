"""Tests of bench/evidence/schedule.py and side_by_side.py: what is run in a given time, in which order, on which card, and that
nothing is left running."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
EVIDENCE = ROOT / "bench" / "evidence"
sys.path.insert(0, str(EVIDENCE))
import schedule  # noqa: E402
import side_by_side  # noqa: E402

TABLE = """
| part | at most | needs | shows |
|---|--:|---|---|
| `choice/first` | 300 | | one |
| `second` | 200 | a-program-that-nobody-has | two |
| `third` | 250 | | three |
| `fourth` | 100 | | four |
"""


class Order(unittest.TestCase):
    def setUp(self):
        self.parts = schedule.parts_of(TABLE)
        self.began, self.said, self.now = [], [], 0.0

    def run_in_time(self, seconds, took=1.0, parts=None):
        def run(part):
            self.began.append(part["name"])
            self.now += took * part["seconds"]

        schedule.run_all(self.parts if parts is None else parts, seconds, "/", run, self.said.append, clock=lambda: self.now)

    def test_the_table_is_read(self):
        self.assertEqual([part["name"] for part in self.parts], ["choice/first", "second", "third", "fourth"])
        self.assertEqual(self.parts[0], {"name": "choice/first", "seconds": 300, "needs": [], "shows": "one"})
        self.assertEqual(self.parts[1]["needs"], ["a-program-that-nobody-has"])

    def test_what_cannot_end_in_time_is_not_begun_and_a_later_part_that_can_is(self):
        self.run_in_time(400)
        self.assertEqual(self.began, ["choice/first", "fourth"])
        self.assertEqual(self.said[-1], "for another call, 0 s are left: third (250 s)")

    def test_a_part_that_ended_early_leaves_its_time(self):
        self.run_in_time(400, took=0.5)
        self.assertEqual(self.began, ["choice/first", "third", "fourth"])

    def test_a_missing_tool_is_named_and_the_others_go_on(self):
        self.run_in_time(1000)
        self.assertEqual(self.began, ["choice/first", "third", "fourth"])
        self.assertEqual(self.said, ["second: left out, a-program-that-nobody-has is not installed"])

    def test_what_is_done_is_not_done_again_and_what_failed_comes_last(self):
        record = {"choice/first": {"status": "failed", "vintage": "v"}, "third": {"status": "done", "vintage": "v"}}
        self.assertEqual([part["name"] for part in schedule.in_order(self.parts, record, "v")],
                         ["second", "fourth", "choice/first"])

    def test_what_was_measured_with_other_templates_is_done_again(self):
        record = {"third": {"status": "done", "vintage": "of before"}}
        self.assertIn("third", [part["name"] for part in schedule.in_order(self.parts, record, "v")])

    def test_without_known_templates_nothing_is_done(self):
        record = {"third": {"status": "done", "vintage": None}}
        self.assertIn("third", [part["name"] for part in schedule.in_order(self.parts, record, None)])

    def test_tables_are_made_anew(self):
        parts = [{"name": "tsk/tables", "seconds": 20, "needs": [], "shows": ""}]
        record = {"tsk/tables": {"status": "done", "vintage": "v"}}
        self.assertEqual(schedule.in_order(parts, record, "v"), parts)

    def test_needs(self):
        with tempfile.TemporaryDirectory() as data:
            self.assertIsNone(schedule.lacking(["module json"], data))
            self.assertIn("has no", schedule.lacking(["module nobody_has_this"], data))
            self.assertEqual(schedule.lacking(["$BAT"], data, {}), "BAT is not set")
            self.assertEqual(schedule.lacking(["$BAT"], data, {"BAT": "/no/such"}), "BAT names no file: /no/such")
            self.assertIsNone(schedule.lacking(["$BAT"], data, {"BAT": data}))
            self.assertEqual(schedule.lacking(["data rows.csv"], data), "DATA has no rows.csv")
            folder = pathlib.Path(data, "set")
            folder.mkdir()
            (folder / "rows.csv").write_text("1\n")
            self.assertIsNone(schedule.lacking(["data rows.csv"], data))


class Limit(unittest.TestCase):
    def test_how_a_command_ended(self):
        self.assertEqual(schedule.run_in(["true"], 60), "done")
        self.assertEqual(schedule.run_in(["false"], 60), "failed")

    def test_at_the_limit_no_process_is_left_even_one_in_a_group_of_its_own(self):
        with tempfile.TemporaryDirectory() as folder:
            pids = pathlib.Path(folder, "pids")
            # `timeout` makes a group of its own; the inner shell is deaf to SIGTERM.
            script = f"timeout 600 sh -c 'trap \"\" TERM; echo $$ >{pids}; while :; do sleep 1; done' & wait"
            self.assertEqual(schedule.run_in(["bash", "-c", script], 3, kill_after=1), "stopped")
            process = int(pids.read_text())
            status = pathlib.Path(f"/proc/{process}/stat")
            self.assertTrue(not status.exists() or status.read_text().rpartition(")")[2].split()[0] == "Z")


class SideBySide(unittest.TestCase):
    def test_each_card_has_its_processors_and_none_has_more_than_another(self):
        self.assertEqual(side_by_side.shares(list(range(8)), 2), [[0, 1, 2, 3], [4, 5, 6, 7]])
        self.assertEqual(side_by_side.shares([3, 5, 9], 2), [[3], [5]])
        self.assertEqual(side_by_side.shares([7], 3), [[7], [7], [7]])

    def test_a_card_has_a_build_and_results_of_its_own(self):
        command, own, results = side_by_side.of_card(1, "540", "/build", "/out", "/data", ["cells", "choice/wide"])
        self.assertEqual((str(own), str(results)), ("/build-1", "/out/1"))
        self.assertEqual(command, [str(EVIDENCE / "gpu_evidence"), "/build-1", "/out/1", "/data", "--seconds", "540", "cells",
                                   "choice/wide"])

    def test_all_run_at_once_each_with_its_own_card(self):
        with tempfile.TemporaryDirectory() as folder:
            # Each waits until the other has written: one after the other, they would not end.
            script = ('echo $CUDA_VISIBLE_DEVICES $(taskset -pc $$ | cut -d: -f2) >{0}/$0; '
                      'until [ -s {0}/$1 ]; do sleep 0.05; done; exit $2').format(folder)
            commands = [["timeout", "60", "bash", "-c", script, *words] for words in (("a", "b", "0"), ("b", "a", "3"))]
            self.assertEqual(side_by_side.run_all(commands, sorted(os.sched_getaffinity(0))), [0, 3])
            cards = [pathlib.Path(folder, name).read_text().split()[0] for name in "ab"]
            self.assertEqual(cards, ["0", "1"])

    def test_whoever_is_asked_to_stop_asks_all(self):
        with tempfile.TemporaryDirectory() as folder:
            script = ("import sys, side_by_side\n"
                      "loop = 'trap \"echo stopped >{0}/$0; exit 7\" TERM; echo >{0}/began$0; while :; do sleep 0.05; done'\n"
                      "print(side_by_side.run_all([['bash', '-c', loop, name] for name in 'ab'], [0]))").format(folder)
            process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, cwd=EVIDENCE,
                                       env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
            while not all(pathlib.Path(folder, f"began{name}").exists() for name in "ab"):
                self.assertIsNone(process.poll())
            process.terminate()
            self.assertEqual(process.communicate(timeout=60)[0], "[7, 7]\n")
            for name in "ab":
                self.assertEqual(pathlib.Path(folder, name).read_text(), "stopped\n")


class Table(unittest.TestCase):
    """README.md and the scripts name the same parts."""

    def test_every_part_has_a_row_and_every_row_a_part(self):
        expected = set()
        for script in EVIDENCE.glob("*_evidence"):
            text = script.read_text(encoding="utf-8")
            words = re.search(r'^run_parts "([^"]*)"', text, re.MULTILINE).group(1)
            listed = re.search(r'^all="([^"]*)"', text, re.MULTILINE)
            words = words.replace("$all", listed.group(1) if listed else "")
            prefix = script.name.removesuffix("_evidence")
            expected |= {word if prefix == "gpu" else f"{prefix}/{word}" for word in words.split()}
        table = {part["name"] for part in schedule.parts_of((EVIDENCE / "README.md").read_text(encoding="utf-8"))}
        self.assertEqual(table, expected)


    def test_two_cards_are_given_what_their_bar_allows(self):
        script = (EVIDENCE / "choice_evidence").read_text(encoding="utf-8")
        one, several = (float(re.search(rf"fresh {name} (\d+)", script).group(1)) for name in ("one", "all"))
        bar = float(re.search(r"`choice/cards` .* in at most ([0-9.]+) times", (EVIDENCE / "README.md").read_text()).group(1))
        # A run takes about 1 s more than its budget on one card, and 2 s on two.
        self.assertLessEqual((several + 2) / (one + 1), bar)


class Program(unittest.TestCase):
    """gpu_evidence --seconds, with a build that has no program."""

    def run_it(self, folder, *words):
        return subprocess.run([str(EVIDENCE / "gpu_evidence"), folder, folder + "/results", folder, *words],
                              capture_output=True, text=True, check=False)

    def test_it_records_and_lists(self):
        with tempfile.TemporaryDirectory() as folder:
            ran = self.run_it(folder, "--seconds", "70", "own/choice")
            self.assertEqual(ran.returncode, 1, ran.stderr)
            self.assertRegex(ran.stdout, r"choice\.txt .*FAILED, exit code 127: .*\nown/choice: failed after \d+ s of at most 65")
            self.assertIn('"status": "failed"', pathlib.Path(folder, "results", "parts.json").read_text())
            listed = self.run_it(folder, "--seconds", "5", "--list", "own/choice")
            self.assertRegex(listed.stdout, r"^for another call, 5 s are left: own/choice")
            wrong = self.run_it(folder, "--seconds", "5", "nothing")
            self.assertEqual(wrong.returncode, 2)
            self.assertIn("found part 'nothing', expected some of", wrong.stderr)
            self.assertEqual(self.run_it(folder, "--seconds", "1.5").returncode, 2)
            nowhere = self.run_it(folder + "/none", "--seconds", "5", "--list")
            self.assertEqual(nowhere.returncode, 2)
            self.assertFalse(pathlib.Path(folder, "none").exists())


if __name__ == "__main__":
    unittest.main()
