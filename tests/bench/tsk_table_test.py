"""Tests of bench/evidence/tsk_table.py: bars that were and were not reached."""
import json
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "evidence"))
import tsk_table  # noqa: E402


def row(rows, name, time):
    return {"rows": rows, "name": name, "configuration": name, "status": "correct", "iterations": 100, "best_error": 0.1,
            "worst_error": 0.0, "microseconds_per_iteration": time, "milliseconds": time / 10}


class Bars(unittest.TestCase):
    def table(self, *rows, backend="cuda"):
        with tempfile.TemporaryDirectory() as folder:
            document = {"name": "a card", "date": "", "backend": backend, "iterations": 100, "rows": rows}
            pathlib.Path(folder, "tsk_table.json").write_text(json.dumps(document))
            return "\n".join(tsk_table.truck(folder))

    def test_a_hundred_iterations_at_the_largest_published_size(self):
        self.assertIn("3.4 ms, bar 3.4 ms: reached", self.table(row(65536, "default", 34.0)))
        self.assertIn("3.5 ms, bar 3.4 ms: **not reached**", self.table(row(65536, "default", 35.0)))
        self.assertNotIn("bar 3.4 ms", self.table(row(256, "default", 10.0)))

    def test_the_default_beside_the_fastest_at_every_size(self):
        good = [row(256, "default", 10.0), row(256, "sampled", 9.5), row(1024, "default", 10.7), row(1024, "sampled", 10.0)]
        self.assertIn("at most 7.0 % slower than the fastest (1024 samples), bar 8 %: reached", self.table(*good))
        slow = [row(4096, "default", 10.9), row(4096, "sampled", 10.0)]
        self.assertIn("at most 9.0 % slower than the fastest (4096 samples), bar 8 %: **not reached**", self.table(*good, *slow))

    def test_a_published_mapping_is_not_the_fastest_of_heddle(self):
        text = self.table(row(65536, "default", 30.0), row(65536, "published-split", 270.0))
        self.assertIn("published-split: 9.0 times as long, bar 10: **not reached**", text)

    def test_the_cpu_has_another_limit_and_none_for_the_default(self):
        text = self.table(row(65536, "default", 9000.0), row(65536, "sampled", 7000.0), backend="cpu")
        self.assertIn("bar 2000 ms: reached", text)
        self.assertNotIn("bar 8 %", text)


if __name__ == "__main__":
    unittest.main()
