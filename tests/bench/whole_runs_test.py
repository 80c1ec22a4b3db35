"""Tests of bench/evidence/whole_runs.py: what a column says is true of the file that it is of, and a search that tried hardly
anything is named."""
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "evidence"))
import whole_runs  # noqa: E402


def document(words, runs, **more):
    """One set of data, learnt in several ways: {way: further entries of its run}."""
    runs = {way: {"epochs": [{"seconds": 0.25, "rules": 5, "train_error": 0.1}], **entries} for way, entries in runs.items()}
    return {"command": f"whole_runs {words}", "cores": 16,
            "sets": [{"name": "letter", "rows": 10, "dim": 16, "outputs": 26, "max_rules": 5, "runs": runs}], **more}


def line_of(lines, way):
    """The line about a way."""
    return next(line for line in lines if line.startswith(f"- {whole_runs.WAYS[way]}: "))


class Meanings(unittest.TestCase):
    def meaning(self, way, words="", **more):
        return line_of(whole_runs.meanings(document(words, {way: {}}, **more)), way)

    def test_an_older_file_read_back_for_every_row(self):
        self.assertIn("for every row", self.meaning("gpu-fnn"))
        self.assertNotIn("reads nothing back", self.meaning("gpu-fnn"))
        self.assertIn("reads nothing back", self.meaning("gpu-fnn", templates={}))

    def test_an_older_file_searched_atm_once_for_all_numbers_of_rules(self):
        self.assertIn("one search of 2 s for all", self.meaning("atm", "--budget 1 --atm-budget 2"))
        self.assertIn("for every number of rules", self.meaning("atm", "--part-budget 1", templates={}))

    def test_what_was_not_tuned_is_not_called_tuned(self):
        for way, option in (("cpu", "--cpu-budget"), ("heddle", "--budget")):
            self.assertIn("not tuned", self.meaning(way, "--atm-budget 2", templates={}))
            self.assertIn("not tuned", self.meaning(way, f"{option} 0", templates={}))
            self.assertNotIn("not tuned", self.meaning(way, f"{option} 4", templates={}))

    def test_the_fastest_of_several_runs_on_the_cpu_is_called_that(self):
        self.assertNotIn("fastest", self.meaning("cpu", "--cpu-budget 5", templates={}))
        self.assertIn("the fastest of 3 runs", self.meaning("cpu", "--cpu-budget 5 --cpu-runs 3", templates={}))


class Table(unittest.TestCase):
    def test_times_on_the_cpu_have_their_threads(self):
        found = document("", {"cpu": {"configuration": "coarsening=rules threads=12 prune=0"},
                              "heddle": {"configuration": "scheme=cluster threads_per_rule=2"}})
        self.assertEqual(whole_runs.times_of(found["sets"][0], ["cpu", "heddle", "atm"]), ["0.250 (12)", "0.250", "–"])


class Searches(unittest.TestCase):
    def said(self, **runs):
        return list(whole_runs.searches(document("", runs, templates={})))

    def test_the_fewest_configurations_are_told(self):
        (line,) = self.said(atm={"fewest_configurations_tried": 8})
        self.assertIn("ATM: at least 8 configurations", line)

    def test_a_search_that_tried_fewer_than_eight_is_named(self):
        lines = self.said(atm={"fewest_configurations_tried": 31}, captured={"fewest_configurations_tried": 7})
        self.assertEqual([line for line in lines if "hardly searched" in line],
                         ["- **launched, captured on letter was hardly searched**: 7 configurations for some number of rules, "
                          "where 8 are the least"])

    def test_the_cpu_is_searched_for_the_rules_at_the_end(self):
        first, second = self.said(cpu={"fewest_configurations_tried": 3, "configurations_allowed": 65})
        for line in (first, second):
            self.assertIn("3 configurations", line)
            self.assertIn("for the number of rules at the end", line)

    def test_all_that_there_are_is_no_short_search(self):
        (line,) = self.said(**{"gpu-fnn": {"fewest_configurations_tried": 2, "configurations_allowed": 2}})
        self.assertNotIn("hardly searched", line)

    def test_an_older_file_does_not_tell(self):
        self.assertEqual(self.said(atm={}, heddle={}), ["- ATM: how many configurations were tried is not recorded"])


if __name__ == "__main__":
    unittest.main()
