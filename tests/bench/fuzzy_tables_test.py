#!/usr/bin/env python3
"""What bench/evidence/fuzzy_tables.py makes of the files of a run: bars that were and were not reached, and what is
missing."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench" / "evidence"))
sys.dont_write_bytecode = True
import fuzzy_tables  # noqa: E402

HEADER = ("kernel,encoding,bits,layout,cuts,problem,untuned_us,fixed_us,tuned_us,limit,limit_us,tried,valid,untuned,"
          "fixed,tuned\n")


def row(kernel, encoding, cuts, tuned, limit, layout=1, problem="numbers=10"):
    return f"{kernel},{encoding},64,{layout},{cuts},{problem},200,150,{tuned},copy,{limit},9,40,a=1,a=2,a=3\n"


class Tables(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")

    def table(self, kernel, encoding, *rows):
        self.write(f"fuzzy_table_{kernel}_{encoding}.csv",
                   f"# commit c\n# copy {kernel} GB/s\n" + HEADER + "".join(rows) + "# 1.0 s\n")

    def goals(self, own=(), beside=(), containment=""):
        _, rows, _ = fuzzy_tables.read_tables(self.folder)
        return {line.split("|")[1].strip(): line for line in
                fuzzy_tables.goals(rows, own, beside, containment).splitlines() if line.startswith("| ")}

    def test_families_are_read_together(self):
        self.table("map", "lu", row("map", "lu", 4, 100, 90))
        self.table("dot", "mr", row("dot", "mr", 4, 100, 90))
        notes, rows, missing = fuzzy_tables.read_tables(self.folder)
        self.assertEqual(len(missing), 10)
        self.assertIn("fuzzy_table_dot_lu.csv", missing)
        self.assertEqual([(r["kernel"], r["encoding"]) for r in rows], [("map", "lu"), ("dot", "mr")])
        self.assertEqual(notes, ["commit c", "map lu: copy map GB/s", "dot mr: copy dot GB/s"])

    def test_the_worst_layout_at_the_cuts_of_the_bar_decides(self):
        self.table("map", "lu", row("map", "lu", 4, 100, 90), row("map", "lu", 4, 100, 87.9, layout=2),
                   row("map", "lu", 1, 100, 10))
        self.table("dot", "mr", row("dot", "mr", 4, 100, 80))
        goals = self.goals()
        self.assertIn("87.9 % (4 cuts, layout cuts, copy)", goals["map, lu, double, 4 cuts"])
        self.assertTrue(goals["map, lu, double, 4 cuts"].endswith("| **no** |"))
        self.assertTrue(goals["dot, mr, double, 4 cuts"].endswith("| yes |"))
        self.assertIn("| not measured | – |", goals["map, mr, double, 4 cuts"])

    def test_a_series_counts_at_every_number_of_cuts(self):
        problem = "numbers=1000 terms=10"
        self.table("series", "lu", row("series", "lu", 1, 100, 99, problem=problem),
                   row("series", "lu", 24, 2400, 79 * 24, problem=problem))
        goals = self.goals()
        self.assertIn("| **no** |", goals["series, lu, double, 1 to 24 cuts"])
        self.assertIn("at least 100 % (from 1 to 24 cuts)",
                      goals["series, lu, double: rate from one count of cuts to the next"])

    def test_sorts_are_compared_with_cub_and_thrust(self):
        own = [{"encoding": "mr", "bits": "32", "cuts": "1", "layout": layout, "microseconds": "100"} for layout in "12"]
        beside = [{"encoding": "mr", "bits": "32", "cuts": "1", "pairs": "60", "gather": "40", "gather_cuts": "20",
                   "thrust": "99"}]
        goals = self.goals(own, beside)
        self.assertIn("80.0 % (1 cuts, layout cuts) | **no** |",
                      goals["sort, mr, float, 1 to 24 cuts: speed over CUB's pairs and a gather"])
        what = "sort, mr, float, 1 to 24 cuts: speed over Thrust"
        self.assertIn("| 0.99 (cuts: 1) to 1.0, which allocates in every call | **no** |", goals[what])
        beside[0]["thrust_positions"] = "150"
        self.assertIn("| 0.99 (cuts: 1) to 1.0 | **no** |", self.goals(own, beside)[what])

    def test_containment_needs_all_samples(self):
        for samples, violations, reached in ((10**8, 0, "yes"), (10**8, 1, "**no**"), (64, 0, "**no**")):
            goals = self.goals(containment=f"{samples} samples of seed 1 on a card\n{violations} violations in 2 s\n")
            self.assertTrue(goals["containment, 10^8 random inputs of each kind"].endswith(f"| {reached} |"))

    def test_means_against_tuned(self):
        self.table("map", "lu", row("map", "lu", 4, 100, 90))
        goals = self.goals()
        self.assertIn("| 2.000 over 1 of 1 problems", goals["untuned over tuned, geometric mean"])
        self.assertIn("| 1.500 over 1 of 1 problems", goals["one fixed configuration over tuned, geometric mean"])


if __name__ == "__main__":
    unittest.main()
