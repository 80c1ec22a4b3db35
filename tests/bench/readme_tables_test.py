"""Tests of bench/evidence/readme_tables.py, origins.py, derived.py and mapping_table.py: an old table, a changed file and Markdown
that its source does not give are found, baselines are at their best.

Usage: readme_tables_test.py PROGRAM (which prints the digests of the code)
"""
import copy
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "evidence"))
import derived  # noqa: E402
import mapping_table  # noqa: E402
import origins  # noqa: E402
import readme_tables  # noqa: E402
import vintage  # noqa: E402

PROGRAM = sys.argv.pop(1)
README = "{}\n\n## Next\n\nMeasured with older kernels.\n".format(
    "\n\n".join(f"<!-- {name} table -->\n| 1 |\n<!-- end of {name} table -->\n\n{{{name.replace(' ', '_')}}}"
                for name in readme_tables.TABLES))


class Claim(unittest.TestCase):
    def test_the_least_ratio_is_rounded_down(self):
        self.assertEqual(readme_tables.at_least([4.1, 2.95, 3.2]), "2.9")
        self.assertEqual(readme_tables.at_least([3.0]), "3.0")


class Vintage(unittest.TestCase):
    def setUp(self):
        self.digests = json.loads(subprocess.run([PROGRAM], check=True, capture_output=True, text=True).stdout)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.results = pathlib.Path(folder.name)
        self.addCleanup(setattr, readme_tables, "RESULTS", readme_tables.RESULTS)
        readme_tables.RESULTS = self.results
        self.today = {"commit": "0123", "date": "2026-11-02T00:00:00Z", "name": "a card", "steps": [],
                      "templates": self.of_family(self.digests),
                      "choices": {kind: self.of_family(self.digests["choices"][kind]) for kind in ("spaces", "weights")}}
        for table, file in readme_tables.FILES.items():
            self.plant(f"{'xeon' if table == 'cpu' else 'nvidia-h200'}/{file}", self.today)

    @staticmethod
    def of_family(digests):
        return {"cuda": {"sonfin-train": digests["cuda"]["sonfin-train"]}}

    def plant(self, file, document):
        (self.results / file).parent.mkdir(exist_ok=True)
        (self.results / file).write_text(json.dumps(document))

    def wrong(self, document, **beside):
        """With that document for the table of whole runs, and words beside some tables."""
        self.plant("nvidia-h200/whole_runs.json", {"date": self.today["date"], **document})
        return self.complaints(**beside)

    def complaints(self, **beside):
        names = (name.replace(" ", "_") for name in readme_tables.TABLES)
        return readme_tables.vintages(README.format(**{name: beside.get(name, "") for name in names}), self.digests)

    def test_the_program_names_every_backend(self):
        for backend in ("cuda", "cpu"):
            for family in ("sonfin-train", "sonfin-predict", "tsk-constant"):
                self.assertRegex(self.digests[backend][family], "^[0-9a-f]{32}$")

    def test_a_file_that_was_cut_short_is_not_the_newest(self):
        self.plant("nvidia-h100/whole_runs.json", {**self.today, "date": "2027-01-01T00:00:00Z", "complete": False})
        self.assertEqual(readme_tables.newest("whole_runs.json").parent.name, "nvidia-h200")
        self.plant("nvidia-h100/whole_runs.json", {**self.today, "date": "2027-01-01T00:00:00Z", "complete": True})
        self.plant("nvidia-h100/mapping_table.json", {**self.today, "date": "2027-01-01T00:00:00Z"})
        self.assertEqual(readme_tables.newest("whole_runs.json").parent.name, "nvidia-h100")

    def test_tables_are_of_the_card_of_the_first_sentence_where_that_has_the_same(self):
        later = {**self.today, "date": "2027-01-01T00:00:00Z"}
        self.plant("nvidia-h100/whole_runs.json", later)
        self.assertEqual(readme_tables.newest("whole_runs.json").parent.name, "nvidia-h200")
        for other in ({"templates": {"cuda": {"sonfin-train": 32 * "0"}}}, {"choices": {}}):
            with self.subTest(other):
                self.plant("nvidia-h100/whole_runs.json", {**later, **other})
                self.assertEqual(readme_tables.newest("whole_runs.json").parent.name, "nvidia-h100")

    def table_of_mappings(self, captured, **beside):
        cell = {"problem": {"rules": 32, "dim": 16, "outputs": 1}, "samples": 64,
                "entries": [{"roles": [role], "configuration": "", "status": "correct", "median": time, "spread": 0.0}
                            for role, time in (("chosen", 1.0), ("launched captured", captured))]}
        return {**self.today, "cells": [cell], **beside}

    def test_the_first_sentence_tells_of_every_card_with_a_whole_table_of_the_same_kernels(self):
        self.plant("nvidia-h200/mapping_table.json", self.table_of_mappings(4.56))
        only = readme_tables.claim()
        self.assertIn("On one a card", only)
        self.assertIn("4.6 times as long as heddle's, which learns many samples in one launch (SONFIN, geometric mean of 1 sizes with one output; 4.5 at least).", only)
        older = {"name": "another", "date": "2026-11-01T00:00:00Z"}
        for left_out in ({"complete": False}, {"templates": {"cuda": {"sonfin-train": 32 * "0"}}}):
            self.plant("nvidia-h100/mapping_table.json", self.table_of_mappings(3.0, **older, **left_out))
            self.assertEqual(readme_tables.claim(), only)
        self.plant("nvidia-h100/mapping_table.json", self.table_of_mappings(3.0, **older))
        self.assertEqual(readme_tables.claim(), only + " On one another it is 3.0 times, 3.0 at least.")
        # Measured twice on that card: the lower figures, also of a table that lacks sizes with more outputs.
        self.plant("nvidia-h100/mapping_table_again.json", self.table_of_mappings(2.0, **older, complete=False))
        self.assertEqual(readme_tables.claim(), only + " On one another it is 2.0 times, 2.0 at least.")

    def test_a_table_of_today_is_right(self):
        self.assertEqual(self.wrong(self.today), [])

    def test_a_planted_old_one_is_found(self):
        old = copy.deepcopy(self.today)
        old["templates"]["cuda"]["sonfin-train"] = 32 * "0"
        (found,) = self.wrong(old)
        self.assertIn("the runs table", found)
        self.assertIn(32 * "0", found)

    def test_an_old_one_that_says_so_is_allowed(self):
        old = copy.deepcopy(self.today)
        old["templates"]["cuda"]["sonfin-train"] = 32 * "0"
        self.assertEqual(self.wrong(old, runs="These were measured with\nolder kernels."), [])

    def test_words_under_another_heading_do_not_count(self):
        # README says them under "Next".
        self.assertEqual(len(self.wrong({"commit": "0123"})), 1)

    def test_the_words_beside_a_table_of_today_are_wrong(self):
        (found,) = self.wrong(self.today, runs="Measured with older kernels.")
        self.assertIn("today's kernels", found)

    def test_words_beside_another_table_do_not_count(self):
        found = self.wrong({"commit": "0123"}, plots="Measured with older kernels.", prediction="Measured with older kernels.")
        self.assertEqual(len(found), 3)

    def test_every_table_is_checked(self):
        for table in readme_tables.TABLES:
            with self.subTest(table):
                file = readme_tables.file_of(table)
                file.write_text(json.dumps({"commit": "0123", "date": self.today["date"], "steps": []}))
                self.assertTrue(any(f"the {table} table" in line for line in self.complaints()))
                file.write_text(json.dumps(self.today))

    def test_the_card_that_was_measured_last_is_shown(self):
        self.plant("nvidia-h100/whole_runs.json", {"commit": "0123", "date": "2026-11-03T00:00:00Z"})
        (found,) = self.complaints()
        self.assertIn("the runs table", found)
        self.plant("nvidia-h100/whole_runs.json", {"commit": "0123", "date": "2026-11-01T00:00:00Z"})
        self.assertEqual(self.complaints(), [])

    def test_another_search_space_or_other_weights_make_a_table_older(self):
        for kind in ("spaces", "weights"):
            with self.subTest(kind):
                old = copy.deepcopy(self.today)
                old["choices"][kind]["cuda"]["sonfin-train"] = 32 * "0"
                (found,) = self.wrong(old)
                self.assertIn('the runs table does not say "Measured with an older search space or older weights"', found)
                self.assertIn(32 * "0", found)
                self.assertEqual(self.wrong(old, runs="Measured with an older search space or\nolder weights."), [])
                # The kernels are today's.
                self.assertEqual(len(self.wrong(old, runs="Measured with older kernels.")), 2)
        (found,) = self.wrong(self.today, runs="Measured with an older search space or older weights.")
        self.assertIn("today's kernels", found)

    def test_what_does_not_tell_its_search_space_is_older(self):
        unknown = {key: value for key, value in self.today.items() if key != "choices"}
        (found,) = self.wrong(unknown)
        self.assertIn("search space of None", found)
        old = {**unknown, "templates": {"cuda": {"sonfin-train": 32 * "0"}}}
        (found,) = self.wrong(old)
        self.assertIn("Measured with older kernels", found)

    def test_a_family_without_shipped_weights_needs_no_record_of_them(self):
        of_family = {"cuda": {"mlp-train": self.digests["choices"]["spaces"]["cuda"]["mlp-train"]}}
        self.assertNotIn("mlp-train", self.digests["choices"]["weights"]["cuda"])
        document = {**self.today, "templates": {"cuda": {"mlp-train": self.digests["cuda"]["mlp-train"]}},
                    "choices": {"spaces": of_family}}
        self.assertEqual(self.wrong(document), [])

    def test_kernels_that_a_file_does_not_name_are_those_of_its_origin(self):
        folder = self.results / "nvidia-h200"
        self.plant("nvidia-h200/mlp_toman.json", {"device": "a card", "10000": []})
        self.assertTrue(any("the toman table" in line for line in self.complaints()))
        origins.write(folder, {**origins.read(folder), "kernels": {"key": self.digests},
                               "files": {"mlp_toman.json": {"commit": "0123", "kernels": "key", "sha256": ""}}})
        self.assertEqual(self.complaints(), [])

    def test_the_overview_tells_card_and_kernels_of_every_table(self):
        self.plant("nvidia-h200/whole_runs.json", {**self.today, "templates": {}})
        self.plant("nvidia-h200/predict_table.json", {**self.today, "choices": {}})
        self.plant("nvidia-h100/mapping_table.json", {**self.today, "name": "another card", "date": "2026-11-03T00:00:00Z"})
        line = readme_tables.overview(self.digests)
        self.assertIn("mappings: another card, today's kernels;", line)
        self.assertIn("whole runs: a card, older kernels;", line)
        self.assertIn(f"prediction: a card, {readme_tables.OLDER_CHOICES}", line)
        for label in readme_tables.LABELS.values():
            self.assertEqual(line.count(label), 1)

    def test_the_cpu_that_was_measured_last_is_shown_if_it_has_tuned_times(self):
        steps = [{"problem": "rules=3 dim=2 outputs=1",
                  "quiet": {way: {"median_us": time} for way, time in (("plain", 8.0), ("default", 3.0), ("tuned", 2.0))}}]
        newer = {**self.today, "date": "2026-11-03T00:00:00Z", "device": "cpu|A processor|x86-64-v4|2 units|0 GiB"}
        self.plant("amd/cpu_step.json", {**newer, "steps": steps})
        self.plant("older/cpu_step.json", {**newer, "date": "2026-11-04T00:00:00Z", "steps": [{"default": {}, "best": {}}]})
        text = readme_tables.cpu()
        self.assertIn("2 cores of A processor ([amd]", text)
        self.assertIn("| 3 x 2 x 1 | 8.0 | 3.0 | 2.0 | 4.0 |", text)

    def test_what_names_no_digest_or_no_commit_is_old(self):
        self.assertIn("no digest", self.wrong({"commit": "0123"})[0])
        self.assertIn("no commit", self.wrong({**self.today, "commit": ""})[0])

    def test_files_of_earlier_versions_are_read(self):
        document = {"device": "cuda|X|9.0", "family": "sonfin-train", "source_hash": "ab"}
        self.assertEqual(vintage.templates(document), {"cuda": {"sonfin-train": "ab"}})


class Origins(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build, self.measured, self.kept = (pathlib.Path(folder.name) / name for name in ("build", "measured", "kept"))
        (self.build / "bench").mkdir(parents=True)
        (self.build / "bench" / "template_digests").symlink_to(pathlib.Path(PROGRAM).resolve())
        self.measured.mkdir()
        self.kept.mkdir()
        for name in ("one.txt", "two.json"):
            (self.measured / name).write_text(name)

    def test_a_file_is_kept_with_its_commit_and_its_kernels(self):
        origins.note(self.build, self.measured, "0123", ["one.txt", "two.json"])
        origins.keep(self.measured, self.kept, ["one.txt"])
        known = origins.read(self.kept)
        entry = known["files"]["one.txt"]
        self.assertEqual(list(known["files"]), ["one.txt"])
        self.assertEqual(entry["commit"], "0123")
        digests = json.loads(subprocess.run([PROGRAM], check=True, capture_output=True, text=True).stdout)
        self.assertEqual(known["kernels"][entry["kernels"]], digests)
        self.assertEqual(origins.wrong(self.kept), [])

    def test_what_is_measured_again_has_its_new_origin_and_the_rest_its_old_one(self):
        origins.note(self.build, self.measured, "0123", ["one.txt", "two.json"])
        origins.keep(self.measured, self.kept, [])
        (self.measured / "two.json").write_text("again")
        origins.note(self.build, self.measured, "4567", ["two.json"])
        origins.keep(self.measured, self.kept, ["two.json"])
        commits = {name: entry["commit"] for name, entry in origins.read(self.kept)["files"].items()}
        self.assertEqual(commits, {"one.txt": "0123", "two.json": "4567"})
        self.assertEqual(origins.wrong(self.kept), [])

    def test_a_file_that_was_changed_or_removed_is_found(self):
        origins.note(self.build, self.measured, "0123", ["one.txt", "two.json"])
        (self.measured / "one.txt").write_text("by hand")
        (self.measured / "two.json").unlink()
        changed, gone = origins.wrong(self.measured)
        self.assertIn("measured/one.txt is not what was measured", changed)
        self.assertIn("measured/two.json is gone", gone)

    def test_a_measured_file_without_an_origin_is_found_unless_it_is_named_as_older(self):
        origins.note(self.build, self.measured, "0123", ["one.txt"])
        (self.measured / "table.md").write_text("made from the others")
        (found,) = origins.wrong(self.measured)
        self.assertIn("measured/two.json has no origin", found)
        origins.write(self.measured, {**origins.read(self.measured), "older": ["two.json"]})
        self.assertEqual(origins.wrong(self.measured), [])
        (self.measured / "two.json").unlink()
        (found,) = origins.wrong(self.measured)
        self.assertIn("measured/two.json is gone", found)

    def test_files_of_one_card_and_one_commit_are_told_from_others(self):
        self.addCleanup(os.environ.__setitem__, "PATH", os.environ["PATH"])
        os.environ["PATH"] = f"{self.build}:{os.environ['PATH']}"
        tool = self.build / "nvidia-smi"

        def on(card):
            tool.write_text(f"#!/bin/sh\necho GPU-{card}\n")
            tool.chmod(0o755)

        tool.write_text("#!/bin/sh\nexit 9\n")
        tool.chmod(0o755)
        origins.note(self.build, self.measured, "0123", ["one.txt", "two.json"])
        self.assertIsNone(origins.same_card(self.measured, "one.txt", "two.json"))
        on("a")
        origins.note(self.build, self.measured, "0123", ["one.txt"])
        self.assertIsNone(origins.same_card(self.measured, "one.txt", "two.json"))
        origins.note(self.build, self.measured, "0123", ["two.json"])
        self.assertTrue(origins.same_card(self.measured, "one.txt", "two.json"))
        origins.note(self.build, self.measured, "4567", ["two.json"])
        self.assertFalse(origins.same_card(self.measured, "one.txt", "two.json"))
        on("b")
        origins.note(self.build, self.measured, "0123", ["two.json"])
        self.assertFalse(origins.same_card(self.measured, "one.txt", "two.json"))

    def test_what_is_measured_again_is_no_longer_older(self):
        origins.write(self.kept, {"kernels": {}, "files": {}, "older": ["one.txt", "two.json"]})
        origins.note(self.build, self.measured, "0123", ["one.txt"])
        origins.keep(self.measured, self.kept, ["one.txt"])
        self.assertEqual(origins.read(self.kept)["older"], ["two.json"])

    def test_a_changed_file_fails_the_check_of_the_readme(self):
        self.addCleanup(setattr, readme_tables, "RESULTS", readme_tables.RESULTS)
        text, digests = (ROOT / "README.md").read_text(), {}
        results = pathlib.Path(self.measured.parent) / "results"
        shutil.copytree(readme_tables.RESULTS, results, ignore=shutil.ignore_patterns("*.md"))
        readme_tables.RESULTS = results
        before = readme_tables.check(text, digests)
        origins.note(self.build, self.measured, "0123", ["one.txt"])
        origins.keep(self.measured, results / "nvidia-h100", ["one.txt"])
        self.assertEqual(readme_tables.check(text, digests), before)
        (results / "nvidia-h100" / "one.txt").write_text("by hand")
        self.assertEqual(len(readme_tables.check(text, digests)), len(before) + 1)

    def test_without_the_program_the_kernels_are_not_known(self):
        origins.note(self.kept, self.measured, "0123", ["one.txt"])
        self.assertEqual(origins.read(self.measured)["files"]["one.txt"]["kernels"], None)


class Derived(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name, "card")
        self.folder.mkdir()
        for name in ("whole_runs.json", "fuzzy_sort.csv", "sort_beside.csv"):
            shutil.copyfile(readme_tables.RESULTS / "nvidia-h200" / name, self.folder / name)
        self.tables = ["whole_runs.md", "fuzzy_sort.md"]
        self.assertEqual(derived.main([str(self.folder), *self.tables]), 0)

    def test_what_was_made_of_the_files_beside_it_is_right(self):
        self.assertEqual(derived.present(self.folder), self.tables)
        self.assertEqual(derived.wrong(self.folder), [])

    def test_a_planted_difference_is_found(self):
        for name in self.tables:
            text = (self.folder / name).read_text()
            (self.folder / name).write_text(text.replace("1", "2", 1))
            (found,) = derived.wrong(self.folder)
            self.assertIn(f"card/{name} is not what", found)
            (self.folder / name).write_text(text)

    def test_another_source_makes_it_wrong_until_it_is_made_anew(self):
        document = json.loads((self.folder / "whole_runs.json").read_text())
        document["sets"][0]["runs"]["heddle"]["epochs"][0]["seconds"] += 1
        (self.folder / "whole_runs.json").write_text(json.dumps(document))
        self.assertEqual(len(derived.wrong(self.folder)), 1)
        self.assertEqual(derived.main([str(self.folder)]), 0)
        self.assertEqual(derived.wrong(self.folder), [])

    def test_a_source_that_cannot_be_read_is_named(self):
        (self.folder / "whole_runs.json").write_text("{}")
        (found,) = derived.wrong(self.folder)
        self.assertIn("card/whole_runs.md cannot be made anew", found)

    def test_a_table_without_a_source_is_not_written(self):
        self.assertEqual(derived.main([str(self.folder), "predict_table.md"]), 1)
        self.assertFalse((self.folder / "predict_table.md").exists())

    def test_a_planted_difference_fails_the_check_of_the_readme(self):
        self.addCleanup(setattr, readme_tables, "RESULTS", readme_tables.RESULTS)
        text = (ROOT / "README.md").read_text()
        results = self.folder.parent / "results"
        shutil.copytree(readme_tables.RESULTS, results, ignore=shutil.ignore_patterns("*.md"))
        readme_tables.RESULTS = results
        before = readme_tables.check(text, {})
        (results / "nvidia-h200" / "whole_runs.md").write_text((self.folder / "whole_runs.md").read_text())
        self.assertEqual(readme_tables.check(text, {}), before)
        (results / "nvidia-h200" / "whole_runs.md").write_text("typed by hand")
        self.assertEqual(len(readme_tables.check(text, {})), len(before) + 1)


class Mappings(unittest.TestCase):
    def load(self, entries, independent=None):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        file = pathlib.Path(folder.name) / "table.json"
        cell = {"problem": {"rules": 32, "dim": 16, "outputs": 1}, "samples": 64,
                "entries": [{"roles": roles, "configuration": configuration, "status": status, "median": time,
                             "spread": 0.0} for roles, configuration, status, time in entries]}
        file.write_text(json.dumps({"cells": [cell]}))
        text = pathlib.Path(folder.name) / "independent.txt"
        text.write_text(independent or "")
        return mapping_table.load(file, None, text)[1][32, 16, 1]

    def test_the_fastest_right_configuration_stands_for_a_baseline(self):
        roles = self.load([(["gpu-fnn"], "a", "correct", 9.0), (["gpu-fnn"], "b", "correct", 8.0),
                           (["gpu-fnn"], "c", "wrong_result", 1.0)])
        self.assertEqual(roles["gpu-fnn"][::2], (8.0, "b"))

    def test_the_best_captured_scheme_is_the_fastest_of_all(self):
        roles = self.load([(["gpu-fnn captured"], "a", "correct", 5.0), (["atm captured"], "b", "correct", 4.0),
                           (["launched captured", "x"], "c", "correct", 4.5), (["chosen"], "d", "correct", 1.0)])
        self.assertEqual(roles["best captured"][::2], (4.0, "b"))
        self.assertEqual(mapping_table.ratios({(32, 16, 1): roles}, "best captured"), {(32, 16, 1): 4.0})

    def test_pytorch_stands_there_with_its_fastest_right_way(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        table, pytorch = pathlib.Path(folder.name, "table.json"), pathlib.Path(folder.name, "pytorch.json")
        problem = {"rules": 32, "dim": 16, "outputs": 1}
        table.write_text(json.dumps({"cells": [{"problem": problem, "samples": 64, "entries": []}]}))
        ways = {"eager": (99.0, 0.0), "captured": (9.0, 1e-4), "compiled": (6.0, 1e-4)}

        def found():
            cells = [{"problem": size, **{way: {"median": time, "spread": 0.0, "worst_error": error}
                                          for way, (time, error) in ways.items()}} for size in (problem, {**problem, "dim": 17})]
            pytorch.write_text(json.dumps({"cells": cells}))
            return mapping_table.load(table, pytorch)[1]
        self.assertEqual(list(found()), [(32, 16, 1)])
        self.assertEqual(found()[32, 16, 1]["best pytorch"], (6.0, 0.0, "compiled"))
        ways["compiled"] = (6.0, 0.5)
        self.assertEqual(found()[32, 16, 1]["best pytorch"], (9.0, 0.0, "captured"))

    def captured(self, times):
        """Cells with a captured baseline of these times, and a chosen one of 1 us."""
        return {sizes: {role: (time, 0.0, "") for role in ("launched captured", "best captured")} | {"chosen": (1.0, 0.0, "")}
                for sizes, time in times.items()}

    def test_a_baseline_that_is_slower_than_at_a_larger_size_was_not_at_its_best(self):
        found = self.captured({(32, 16, 1): 5.0, (64, 16, 1): 4.0, (64, 16, 10): 3.0, (16, 512, 1): 2.0})
        single = {sizes: cell for sizes, cell in found.items() if sizes[2] == 1}
        self.assertEqual(mapping_table.ratios_at_best(single, found, "best captured"),
                         {(32, 16, 1): 3.0, (64, 16, 1): 3.0, (16, 512, 1): 2.0})
        (line,) = mapping_table.not_at_best(single, found)
        self.assertIn("in 2 cells", line)
        self.assertIn("32 x 16 x 1 (1.67 times as long as 64 x 16 x 10)", line)
        self.assertNotIn("16 x 512", line)
        (line,) = mapping_table.summary(single, found, ["launched captured"])
        self.assertIn("geometric mean 3.42 over 3 cells, lowest 2.00 at 16 x 512 x 1; at its best", line)
        self.assertIn("geometric mean 2.62 over 3 cells", line)

    def test_a_baseline_at_its_best_is_told_once(self):
        found = self.captured({(32, 16, 1): 4.0, (64, 16, 1): 5.0})
        self.assertEqual(list(mapping_table.not_at_best(found, found)), [])
        (line,) = mapping_table.summary(found, found, ["best captured"])
        self.assertNotIn("at its best", line)

    def test_what_is_slower_than_somebody_else_wrote_it_is_named(self):
        entries = [(["gpu-fnn"], "a", "correct", 9.0), (["gpu-fnn captured"], "b", "correct", 4.2)]
        text = "   32    16 |  8.10 |  7.70 (40128) | 4.10 | 1.5\n"
        fused, captured = mapping_table.counterparts({(32, 16, 1): self.load(entries, text)})
        self.assertIn("more than 1.05 in 1: 32 x 16 x 1", fused)
        self.assertTrue(captured.endswith("more than 1.05 in 0"))

    def test_columns_of_older_files_say_what_they_were(self):
        self.assertIn("48", mapping_table.meaning({}, "fixed"))
        self.assertNotIn("48", mapping_table.meaning({"templates": {}}, "fixed"))

    def test_times_of_somebody_else_stand_beside_ours(self):
        roles = self.load([(["chosen"], "d", "correct", 1.0)],
                          "launch us 3.0\nus: R D | gpu-fnn | fused | graph\n"
                          "   32    16 |  8.10 |  7.70 (40128) | 4.10 | 1.5\n")
        self.assertEqual(roles["independent gpu-fnn"][0], 8.1)
        self.assertEqual(roles["independent fused captured"][0], 4.1)


class Program(unittest.TestCase):
    """readme_tables.py --check as CI calls it, in a copy of what it reads."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        shutil.copyfile(ROOT / "README.md", self.root / "README.md")
        # Without the Markdown of the results, which takes a second to make anew.
        shutil.copytree(ROOT / "bench", self.root / "bench",
                        ignore=lambda folder, names: [name for name in names if "results" in folder and name.endswith(".md")])

    def check(self):
        program = self.root / "bench" / "evidence" / "readme_tables.py"
        return subprocess.run([sys.executable, "-B", program, "--check", "--program", PROGRAM], capture_output=True, text=True,
                              check=False)

    def test_it_says_nothing_where_nothing_is_wrong(self):
        ran = self.check()
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))

    def test_a_planted_old_file_fails_with_a_line(self):
        file = self.root / readme_tables.file_of("least squares").relative_to(ROOT)
        document = json.loads(file.read_text())
        document["templates"]["cuda"]["tsk-constant"] = 32 * "0"
        file.write_text(json.dumps(document))
        ran = self.check()
        self.assertEqual(ran.returncode, 1)
        self.assertRegex(ran.stderr, 'README.md: the least squares table does not say "Measured with older kernels": .*' + 32 * "0")

    def test_without_the_program_of_the_code_it_fails(self):
        program = self.root / "bench" / "evidence" / "readme_tables.py"
        ran = subprocess.run([sys.executable, "-B", program, "--check", "--program", self.root / "none"], capture_output=True,
                             text=True, check=False)
        self.assertEqual(ran.returncode, 1)
        self.assertIn("build template_digests", ran.stderr)


class Readme(unittest.TestCase):
    def test_the_one_of_the_project_is_right(self):
        digests = json.loads(subprocess.run([PROGRAM], check=True, capture_output=True, text=True).stdout)
        self.assertEqual(readme_tables.check((ROOT / "README.md").read_text(), digests), [])


if __name__ == "__main__":
    unittest.main()
