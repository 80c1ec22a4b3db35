"""What Kernel Tuner finds on recorded spaces in its simulation mode: the file that `--baseline` of `heddle search-benchmark` and of
`search_constants` reads (docs/formats.md).

usage: kernel_tuner_baseline.py CACHE.json.gz... [--seeds 100] [--strategies NAME...] --output FILE
                                CACHE: complete cache files of Kernel Tuner (T1). The package kernel_tuner is installed.

Default options of every strategy, 200 evaluations; configurations that fail count as evaluations. Of a run that ends earlier the
last one counts for the rest.
"""

import argparse
import concurrent.futures
import contextlib
import gzip
import importlib.metadata
import io
import json
import os
import pathlib
import random
import statistics
import sys
import tempfile
import warnings

MARKS = (25, 50, 100, 150, 200)
STRATEGIES = ("random_sample", "genetic_algorithm", "diff_evo", "simulated_annealing", "greedy_ils", "greedy_mls", "mls", "pso",
              "firefly_algorithm", "dual_annealing", "basinhopping", "hybrid_vndx", "adaptive_tabu_greywolf")


def read(file):
    text = gzip.open(file, "rt").read() if file.endswith(".gz") else pathlib.Path(file).read_text()
    try:
        return json.loads(text)
    except json.JSONDecodeError:  # a run that was stopped leaves the last bracket out
        return json.loads(text.rstrip().rstrip(",") + "}}")


def is_time(value):
    return isinstance(value, (int, float)) and value > 0


def member_of(keys, cache):
    """A restriction that allows what the cache has: a function whose arguments are the parameters, as Kernel Tuner asks for."""
    scope = {"cache": cache}
    exec(f"def allowed({', '.join(keys)}): return ','.join(map(str, ({', '.join(keys)},))) in cache", scope)
    return scope["allowed"]


def fractions(file, strategy, seeds):
    """By mark, for each seed: the best time of the space by the best of so many evaluations; 0 if all of them failed."""
    import numpy
    import kernel_tuner

    warnings.simplefilter("ignore")
    space = read(file)
    best = min(entry["time"] for entry in space["cache"].values() if is_time(entry["time"]))
    found = {mark: [] for mark in MARKS}
    with tempfile.TemporaryDirectory() as folder:
        cache = pathlib.Path(folder) / "cache.json"
        cache.write_text(json.dumps(space))
        for seed in range(seeds):
            random.seed(seed)
            numpy.random.seed(seed)
            with contextlib.redirect_stdout(io.StringIO()):
                results, _ = kernel_tuner.tune_kernel(
                    space["kernel_name"], f"__global__ void {space['kernel_name']}() {{}}", tuple(space["problem_size"]), [],
                    space["tune_params"], restrictions=member_of(space["tune_params_keys"], space["cache"]), strategy=strategy,
                    strategy_options={"max_fevals": MARKS[-1]}, simulation_mode=True, cache=str(cache), quiet=True, lang="CUDA")
            times = [entry["time"] if is_time(entry["time"]) else float("inf") for entry in results]
            for mark in MARKS:
                found[mark].append(best / min(times[:mark], default=float("inf")))
    return found


def score(values):
    return {"median_fraction": statistics.median(values), "mean_fraction": statistics.fmean(values),
            "within_5_percent": sum(value >= 1 / 1.05 for value in values) / len(values)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("caches", nargs="+")
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--strategies", nargs="+", default=STRATEGIES)
    parser.add_argument("--output", required=True)
    options = parser.parse_args()
    document = {"tool": f"Kernel Tuner {importlib.metadata.version('kernel_tuner')}, simulation mode, default options",
                "seeds": options.seeds, "max_evaluations": MARKS[-1], "spaces": {}}
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        for file in options.caches:
            cache = read(file)["cache"]
            space = document["spaces"][pathlib.Path(file).name] = {
                "configurations": len(cache), "best_ms": min(e["time"] for e in cache.values() if is_time(e["time"])), "strategies": {}}
            runs = {name: pool.submit(fractions, file, name, options.seeds) for name in options.strategies}
            for name, run in runs.items():
                try:
                    space["strategies"][name] = {str(mark): score(values) for mark, values in run.result().items()}
                except Exception as error:  # a strategy that does not work there
                    print(f"{file}: {name}: {type(error).__name__}: {error}", file=sys.stderr)
            pathlib.Path(options.output).write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
