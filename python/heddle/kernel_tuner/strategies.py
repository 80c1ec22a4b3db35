"""Which configurations to try: Kernel Tuner's names, each with the strategy of heddle's that is nearest to it."""

from __future__ import annotations

import math
from time import perf_counter

from heddle import _heddle
from heddle.errors import UsageError
from heddle.kernel_tuner.source import plain
from heddle.kernel_tuner.space import MOST_LISTED
from heddle.kernel_tuner.util import get_objective_defaults

#: Evaluations of a guided search that names no limit.
_USUAL_EVALUATIONS = 2000

#: heddle's strategy for each name; None: one of the two below that need no guide.
NAMES = {
    "brute_force": None,
    "random_sample": None,
    "basinhopping": "local-search",
    "greedy_ils": "local-search",
    "greedy_mls": "local-search",
    "minimize": "local-search",
    "mls": "local-search",
    "ordered_greedy_mls": "local-search",
    "dual_annealing": "annealing",
    "simulated_annealing": "annealing",
    "diff_evo": "genetic",
    "genetic_algorithm": "genetic",
    "bayes_opt": "model",
    "skopt": "model",
    "HybridVNDX": "portfolio",
    "AdaptiveTabuGreyWolf": "portfolio",
    "firefly_algorithm": "portfolio",
    "pso": "portfolio",
}


class Strategy:
    """One of `NAMES`, as programs pass it in place of its name."""

    def __init__(self, name: str):
        self.name = name

    def __repr__(self):
        return f"<strategy {self.name}>"


for _name in NAMES:
    globals()[_name] = Strategy(_name)


def named(strategy) -> str:
    """The name of a strategy.

    Raises
    ------
    ValueError
        There is none of this name.
    UsageError
        It is a program of the user's own.
    """
    if isinstance(strategy, Strategy):
        return strategy.name
    if strategy is None:
        return "brute_force"
    if not isinstance(strategy, str):
        raise UsageError(f"strategy: found {strategy!r}, expected one of: {', '.join(NAMES)}")
    if strategy not in NAMES:
        raise ValueError(f"strategy: found {strategy!r}, expected one of: {', '.join(NAMES)}")
    return strategy


def search(name: str, space, runner, options, objectives, higher_is_better, seed) -> list[dict]:
    """The results of all configurations that the strategy tries, in its order."""
    if name == "brute_force":
        return runner.run(space)
    if name == "random_sample":
        fraction = float(options.get("fraction", 0.1))
        if not 0 <= fraction <= 1:
            raise ValueError(f"strategy_options: fraction is {fraction}, expected from 0 to 1")
        count = runner.budget.evaluations
        if count is None or "max_fevals" not in options:
            count = math.ceil(fraction * space.size())
        return runner.run(space.sample(count, seed))
    return _guided(NAMES[name], space, runner, objectives, higher_is_better, seed)


def _guided(strategy, space, runner, objectives, higher_is_better, seed) -> list[dict]:
    elements = space.listed()
    if elements is None:
        elements = space.sample(MOST_LISTED, seed)  # a guided search sees as many of them as it can have a use for
    entries = [[(name, plain(value)) for name, value in zip(space.names, element)] for element in elements]
    begin = perf_counter()
    guide = _heddle.ListedSearch(strategy, entries, 1 if seed is None else int(seed) & (2**63 - 1))
    objective, higher = get_objective_defaults(objectives[0], higher_is_better[0])
    budget = runner.budget
    if budget.evaluations is None and budget.seconds is None:
        budget.evaluations = min(len(elements), _USUAL_EVALUATIONS)
    results: list[dict] = []
    while not budget.is_done():
        proposed = guide.next(getattr(runner, "at_once", 8))
        runner.strategy_seconds += perf_counter() - begin
        if not proposed:
            break
        found = runner.run([elements[number] for number in proposed])
        begin = perf_counter()
        for number, result in zip(proposed, found):
            cost = None if "__error__" in result else float(result[objective])
            if cost is not None and higher:
                # The guide takes logarithms of what it minimises.
                cost = 1 / cost if cost > 0 else math.inf
            guide.observe(number, cost if cost is not None and 0 < cost < math.inf else None)
        results += found
    return results
