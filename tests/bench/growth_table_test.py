"""Tests of bench/evidence/growth_table.py with documents that were made up: bars that were and were not reached."""
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench" / "evidence"))
import growth_table  # noqa: E402


def entry(name, seconds, after_a_tenth, way="heddle"):
    epochs = [{"seconds": each, "rules": 949} for each in seconds]
    return {"name": name, "rows": 10000, "dim": 5000, "outputs": 1, "max_rules": 949,
            "runs": {way: {"epochs": epochs, "rules_after_a_tenth": after_a_tenth}}}


def bars(*sets):
    return list(growth_table.bars({"sets": list(sets)}))


class Growth(unittest.TestCase):
    def test_bars_that_were_reached(self):
        self.assertEqual(bars(entry("random-5000", [0.0320, 0.0240], 500), entry("random-5000-long", [0.0600, 0.0500], 949)),
                         ["- random-5000, mean of two epochs: 28.0 ms, bar 35 ms: reached",
                          "- random-5000-long, first epoch over the second: 1.20, bar 1.3: reached"])

    def test_bars_that_were_not(self):
        self.assertEqual(bars(entry("random-5000", [0.0500, 0.0240], 500), entry("random-5000-long", [0.0700, 0.0500], 949)),
                         ["- random-5000, mean of two epochs: 37.0 ms, bar 35 ms: **not reached**",
                          "- random-5000-long, first epoch over the second: 1.40, bar 1.3: **not reached**"])

    def test_a_set_whose_rules_come_later_shows_nothing(self):
        line = bars(entry("random-5000-long", [0.0600, 0.0500], 948))[1]
        self.assertIn("of 949 rules 948 are there after a tenth of the rows", line)
        self.assertNotIn("reached", line)

    def test_what_was_not_measured(self):
        failed = {"name": "random-5000-long", "rows": 10000, "dim": 5000, "outputs": 1, "max_rules": 949,
                  "runs": {"heddle": {"failure": "no device"}}}
        self.assertEqual(bars(failed, entry("random-5000", [0.03, 0.02], 500, way="cpu")),
                         ["- random-5000: not measured", "- random-5000-long: not measured"])

    def test_both_epochs_and_their_ratio_are_in_the_table(self):
        lines = list(growth_table.table({"sets": [entry("random-5000-long", [0.0600, 0.0500], 949)]}))
        self.assertEqual(lines[2], "| random-5000-long | 10000 | 5000 x 1 | heddle | 949 | 949 | 60.0 | 50.0 | 1.20 |")


if __name__ == "__main__":
    unittest.main()
