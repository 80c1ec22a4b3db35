#!/usr/bin/env python3
"""The tables of perceptrons, from documents that were made up: bars that were and were not reached, and what is missing."""
import contextlib
import io
import json
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "mlp"))
sys.dont_write_bytecode = True
import mlp_heddle  # noqa: E402
import mlp_networks  # noqa: E402
import mlp_published  # noqa: E402
import mlp_runs  # noqa: E402
import mlp_toman  # noqa: E402


def printed(print_table, *words):
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        print_table(*words)
    return text.getvalue()


def column(text, row, name):
    """The cell of a table in Markdown."""
    lines = [[cell.strip() for cell in line.strip("| ").split("|")] for line in text.splitlines() if line.startswith("| ")]
    header = next(cells for cells in lines if name in cells)
    return next(cells for cells in lines if cells[0] == row)[header.index(name)]


class Toman(unittest.TestCase):
    def run_of(self, seed, epochs=260, reached=True, time=14.5):
        return {"seed": seed, "rows": 10000, "epochs": epochs, "reached": reached, "error": 0.0399, "microseconds_per_epoch": time,
                "milliseconds": time * epochs / 1000, "accuracy": 91.5, "configuration": "scheme=cluster"}

    def table(self, runs, reference=(), more=None):
        found = {"device": "a card", "10000": runs} | ({"60000": more} if more else {})
        exact = {"runs": [{"seed": i, "epochs": epochs} for i, epochs in enumerate(reference)]} if reference else None
        return printed(mlp_toman.table, found, exact)

    def test_all_bars(self):
        text = self.table([self.run_of(1), self.run_of(2, 250)], [270, 270], [self.run_of(1, time=99.0)])
        self.assertEqual(column(text, "2", "ms in all"), "3.62")
        self.assertIn("250 to 260, 2 of 2 seeds: reached", text)
        self.assertIn("mean 255.0; published 265: -3.8 %", text)
        self.assertIn("mean 270.0; ours -5.6 %, bar 5 %: **not reached**", text)
        self.assertIn("an epoch, median: 14.50 us, bar 20 us: reached", text)
        self.assertIn("slowest seed: 3.77 ms, bar 10 ms: reached", text)
        self.assertIn("60000 rows, median: 99.00 us, bar 100 us: reached", text)
        self.assertEqual(column(text[text.index("The same options"):], "1", "test accuracy, %"), "91.50")

    def readme(self, runs, more=None):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "mlp_toman.json")
            file.write_text(json.dumps({"device": "a card", "10000": runs} | ({"60000": more} if more else {})))
            (line,) = mlp_toman.readme(file.parent)
            return line

    def test_what_the_readme_says_is_computed(self):
        of_problem = {"epochs": [{"mappings": [{"problem": "inputs=720 hidden1=25 rows=60000"}]}]}
        line = self.readme([self.run_of(1, 250), self.run_of(2, 301, time=20.0)],
                           [{**self.run_of(1, time=time), "rows": 60000, "document": of_problem} for time in (80.0, 81.0, 99.0)])
        self.assertIn("takes 250 to 301 epochs (2 seeds) and at most 6.02 ms on one a card", line)
        self.assertIn("all 60000, of which 720 pixels vary, 81.0 us", line)

    def test_the_readme_does_not_hide_a_seed_that_did_not_reach_it(self):
        self.assertIn("(1 of 2 seeds; the others did not reach it)", self.readme([self.run_of(1), self.run_of(2, 600, reached=False)]))
        self.assertIn("No training", self.readme([self.run_of(1, 600, reached=False)]))

    def test_a_seed_that_does_not_reach_it(self):
        text = self.table([self.run_of(1, time=21.0), self.run_of(2, 600, reached=False)], [260])
        self.assertIn("1 of 2 seeds: **not reached**", text)
        self.assertEqual(column(text, "2", "epochs"), "600, not reached")
        self.assertIn("ours +0.0 %, bar 5 %: reached", text)
        self.assertNotIn("60000", text)
        self.assertIn("355 to 355, 1 of 1 seeds: **not reached**", self.table([self.run_of(1, 355)]))


class Published(unittest.TestCase):
    def document(self, toman, gurgel):
        epoch = {"untuned": 45.0, "cublas-batch": 180.0}
        return {"device": "a card", "networks": {
            "784-25-15-10x10000": {"steps": 1, "configuration": "scheme=cluster", "epoch": epoch | {"chosen": toman, "toman": 3000.0}},
            "14-10-1x32561": {"steps": 1, "configuration": "scheme=warps",
                              "epoch": epoch | {"chosen": gurgel, "gurgel": 900.0, "t08": 1.3e6, "sequential": 5e3}},
            "784-128-10x65536:64": {"steps": 1024, "configuration": "scheme=spread", "epoch": epoch | {"chosen": 8192.0 + 1024}}},
            "errors": {name: {"batch": {"epochs": 200, "reached": True, "microseconds_per_epoch": 15.0},
                              "online": {"epochs": 7, "reached": online, "microseconds_per_epoch": 9e3}}
                       for name, online in (("toman", True), ("gurgel", False))}}

    def beside(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "p.json")
            row = {"cell": "784-25-15-10x10000:adaptive", "way": "captured", "tf32": "off", "ok": True,
                   "microseconds_per_step": 208.0, "microseconds_per_epoch": 208.0}
            batches = {"cell": "784-128-10x65536:adam:64", "microseconds_per_step": 8.0, "microseconds_per_epoch": 8192.0}
            file.write_text(json.dumps({"rows": [row, row | {"way": "eager", "ok": False}, row | batches,
                                                 row | {"cell": "14-10-1x32561:plain", "microseconds_per_epoch": 39.0}]}))
            return mlp_heddle.pytorch_times(file, "epoch")

    def test_what_chose_among_the_kernels_is_told_by_the_program_of_the_same_build(self):
        with tempfile.TemporaryDirectory() as folder:
            explore, program = pathlib.Path(folder, "explore"), pathlib.Path(folder, "template_digests")
            self.assertEqual(mlp_published.choices_of(explore), {})
            program.write_text("""#!/bin/sh\necho '{"cuda": {}, "choices": {"spaces": {"cuda": {"mlp-train": "ab"}}}}'\n""")
            program.chmod(0o755)
            self.assertEqual(mlp_published.choices_of(explore), {"spaces": {"cuda": {"mlp-train": "ab"}}})

    def test_the_readme_names_the_card_that_heddle_ran_on(self):
        with tempfile.TemporaryDirectory() as folder:
            document = self.document(20.0, 4.0)
            pathlib.Path(folder, "mlp_published_pytorch.json").write_text(json.dumps({"rows": [], "device": "PyTorch's card"}))
            for name, expected in ((None, "PyTorch's card"), ("heddle's card", "heddle's card")):
                pathlib.Path(folder, "mlp_published.json").write_text(json.dumps(document | ({"name": name} if name else {})))
                self.assertIn(f"on one {expected}:", mlp_published.readme(pathlib.Path(folder))[0])

    def test_one_table(self):
        text = printed(mlp_published.table, self.document(20.0, 4.0), self.beside())
        first = text[:text.index("Bars")]
        self.assertEqual(column(first, "784-25-15-10x10000", "PyTorch captured, TF32 off"), "208.0")
        self.assertEqual(column(first, "784-25-15-10x10000", "PyTorch eager, TF32 off"), "–")  # it was wrong
        self.assertEqual(column(first, "784-25-15-10x10000", "t08"), "–")
        self.assertEqual(column(first, "14-10-1x32561", "t08"), "1300000")
        self.assertIn("784-25-15-10x10000, an epoch: 20.00 us, bar 20 us: reached", text)
        self.assertIn("784-128-10x65536:64, a step: 9.00 us, bar 8 us: **not reached**", text)
        self.assertIn("2-4-1x4, an epoch: not measured", text)
        self.assertIn("- 784-25-15-10x10000: 10.4: reached", text)
        self.assertIn("- 14-10-1x32561: 9.8: **not reached**", text)
        self.assertIn("slower than it: 784-128-10x65536:64", text)

    def test_gurgels_tables(self):
        text = printed(mlp_published.table, self.document(20.0, 4.0), {})
        row = "adult, 14-10-1x32561"
        self.assertEqual(column(text, row, "sequential / chosen"), "1250")
        self.assertEqual(column(text, row, "sequential / gurgel"), "5.56")
        self.assertEqual(column(text, row, "published"), "38.84")
        self.assertEqual(column(text[text.index("| 6.2"):], "14-10-1x10", "t08 / chosen"), "–")

    def test_to_the_same_error(self):
        text = printed(mlp_published.table, self.document(20.0, 4.0), self.beside())
        toman, gurgel = text[text.index("\n784-25-15-10x10000, E <="):].split("\n14-10-1x32561, half")
        self.assertEqual(column(toman, "chosen", "ms to the error"), "4.00")
        self.assertEqual(column(toman, "PyTorch captured, TF32 off", "ms to the error"), "41.60")
        self.assertEqual(column(toman, "PyTorch captured, TF32 off", "what it is"), "a CUDA graph, TF32 off")
        self.assertEqual(column(toman, "online", "ms to the error"), "63.00")
        self.assertNotIn("| t08", toman)
        self.assertEqual(column(gurgel, "t08", "epochs"), "7, not reached")
        self.assertEqual(column(gurgel, "t08", "ms to the error"), "–")

    def test_texts_of_named_configurations(self):
        self.assertIn(f'"{mlp_published.T08}"', (ROOT / "kernels/mlp/cuda/train_mapping.cpp").read_text())
        self.assertIn(f'"{mlp_published.SEQUENTIAL}"', (ROOT / "kernels/mlp/cpu/mapping.cpp").read_text())


class Networks(unittest.TestCase):
    def test_what_is_drawn(self):
        drawn = mlp_networks.networks(30)
        self.assertEqual(len(drawn), 30)
        self.assertEqual(drawn[:10], mlp_networks.networks(10))
        self.assertIn(([256, 256, 256, 10], 10**6, 10**6), drawn)
        for of, least, most in ((lambda s, r: s[:1], 8, 2048), (lambda s, r: s[1:-1], 4, 256), (lambda s, r: s[-1:], 1, 26),
                                (lambda s, r: [r], 1000, 10**6)):
            values = [value for sizes, rows, _ in drawn for value in of(sizes, rows)]
            self.assertEqual((min(values), max(values)), (least, most))

    def test_budgets_grow_with_what_verification_takes(self):
        budgets = [mlp_networks.seconds_for(network, 12) for network in mlp_networks.networks(3)]
        self.assertEqual(budgets[0], 60)
        self.assertLess(budgets[2], 12.1)

    def test_the_best_fixed_one_is_a_single_one(self):
        some, other = "scheme=resident blocks=1", "scheme=warps blocks=1"
        tiles = "scheme=layered product=tiles"
        names = [mlp_networks.name_of(*network) for network in mlp_networks.networks(3)]
        found = {names[0]: {"chosen": 10.0, "untuned": 20.0, "configuration": some, "named": {"toman": 90.0}, "fixed": {some: 10.0, tiles: 40.0}},
                 names[1]: {"chosen": 10.0, "untuned": 80.0, "configuration": other, "named": {},
                            "fixed": {some: 40.0, other: 10.0, tiles: 40.0}}}
        self.assertEqual(mlp_networks.best_fixed(found, "resident"), (some, {names[0]: 1.0, names[1]: 4.0}))
        text = printed(mlp_networks.table, {"networks": found, "unverified": {names[2]: 12.0}}, {names[0]: 100.0, names[1]: 9.0})
        self.assertIn("2 of 30 networks have times", text)
        self.assertIn(f"Nothing was verified: {names[2]} in 12 s.", text)
        self.assertIn("- untuned, 2 of 30: 4.000 (largest 8.00)", text)
        self.assertIn("- best fixed resident mapping, 2 of 30: 2.000 (largest 4.00)", text)
        self.assertIn(f"2 of 30 networks have a PyTorch time; slower than it: {names[1]} (0.90)", text)

    def test_times_by_turns_count(self):
        text = "p: 2 of 2 configurations\n     0.5  scheme=a b=1\n  failed  scheme=b  too large\n  by turns   0.25  scheme=a b=1\n"
        self.assertEqual(mlp_heddle.read_explored(text, 100), {"scheme=a b=1": 25.0})


class Accuracy(unittest.TestCase):
    def test_devices_are_compared(self):
        text = printed(mlp_runs.table, {"letter": {"cuda:0": [92.0, 93.0], "cpu": [92.9, 93.3]}, "adult": {"cuda:0": [84.5], "cpu": [84.9]}})
        self.assertEqual(column(text, "letter", "within 0.5 points of cpu"), "0.60: **no**")
        self.assertEqual(column(text, "adult", "within 0.5 points of cpu"), "0.40: yes")


if __name__ == "__main__":
    unittest.main()
