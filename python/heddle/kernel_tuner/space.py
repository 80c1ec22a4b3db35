"""The configurations that restrictions allow, in the order in which their values were given."""

from __future__ import annotations

import inspect
import itertools
import math
import random

from heddle.errors import UsageError
from heddle.kernel_tuner.util import evaluate

#: Spaces of up to so many configurations are listed where a function has to be asked about each.
MOST_LISTED = 200_000


class _Restriction:
    """A condition, and the parameters that it asks for (all, where that cannot be known)."""

    def __init__(self, condition, names):
        self.names = list(names)
        if isinstance(condition, str):
            code = compile(condition.strip(), "<restriction>", "eval")
            used = set(code.co_names)
            self.names = [name for name in self.names if name in used] or self.names
            self._holds = lambda params: evaluate(code, params)
        elif isinstance(condition, tuple) and len(condition) >= 2 and callable(condition[0]):
            self.names = list(condition[1])
            self._holds = lambda params: condition[0](**params)
        elif callable(condition):
            self._holds = self._of_function(condition, self.names)
        else:
            raise ValueError(f"restrictions: found {condition!r}, expected an expression or a function")

    @staticmethod
    def _of_function(function, names):
        """A function takes the configuration as a dict, or the parameters by their names."""
        try:
            taken = [
                each.name
                for each in inspect.signature(function).parameters.values()
                if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY, each.POSITIONAL_ONLY)
            ]
        except (TypeError, ValueError):
            taken = []
        if taken and all(name in names for name in taken):
            return lambda params: function(**{name: params[name] for name in taken})
        return lambda params: function(dict(params))

    def holds(self, params) -> bool:
        try:
            return bool(self._holds(params))
        except ZeroDivisionError:
            return True


class Space:
    """What is allowed of all combinations of values.

    Parameters
    ----------
    tune_params : dict of list
        The values of each parameter.
    restrictions : None, str, callable or list of these
        As of `tune_kernel`.
    max_threads : int
        The most threads of a block, of `block_size_names`.
    """

    def __init__(self, tune_params, restrictions, max_threads, block_size_names):
        self.tune_params = {name: list(dict.fromkeys(values)) for name, values in tune_params.items()}
        self.names = list(self.tune_params)
        for name, values in self.tune_params.items():
            if not values:
                raise UsageError(f"tune_params: {name!r} has no values")
        given = [] if restrictions is None else restrictions if isinstance(restrictions, list) else [restrictions]
        self._restrictions = [_Restriction(each, self.names) for each in given]
        blocks = [name for name in block_size_names if name in self.tune_params]
        if blocks:
            threads = _Restriction("*".join(blocks) + f" <= {max_threads}", blocks)
            self._restrictions.append(threads)
        place = {name: i for i, name in enumerate(self.names)}
        for each in self._restrictions:
            for name in each.names:
                if name not in place:
                    raise ValueError(f"restrictions: found the name {name!r}, expected a parameter")
        #: Restrictions by the last of their parameters, so that a whole branch can be left out.
        self._after = [[] for _ in self.names]
        for each in self._restrictions:
            if each.names:
                self._after[max(place[name] for name in each.names)].append(each)

    def __iter__(self):
        """Tuples of values; the last parameter changes fastest."""
        lists = list(self.tune_params.values())

        def below(depth, params):
            if depth == len(lists):
                yield tuple(params.values())
                return
            name = self.names[depth]
            for value in lists[depth]:
                params[name] = value
                if all(each.holds(params) for each in self._after[depth]):
                    yield from below(depth + 1, params)
            del params[name]

        yield from below(0, {})

    def size(self) -> int:
        """How many configurations are allowed. Parameters that no restriction asks for only multiply."""
        asked = [name for name in self.names if any(name in each.names for each in self._restrictions)]
        free = math.prod(len(values) for name, values in self.tune_params.items() if name not in asked)
        if not asked:
            return free
        part = Space({name: self.tune_params[name] for name in asked}, None, 0, [])
        part._restrictions = self._restrictions
        for each in self._restrictions:
            part._after[max(asked.index(name) for name in each.names)].append(each)
        return free * sum(1 for _ in part)

    def allows(self, element) -> bool:
        params = dict(zip(self.names, element))
        return all(value in self.tune_params[name] for name, value in params.items()) and all(
            each.holds(params) for each in self._restrictions
        )

    def listed(self) -> list[tuple] | None:
        """All configurations, unless there are more than `MOST_LISTED`."""
        some = list(itertools.islice(self, MOST_LISTED + 1))
        return some if len(some) <= MOST_LISTED else None

    def sample(self, count: int, seed=None) -> list[tuple]:
        """So many different configurations, all equally likely."""
        draw = random.Random(seed)
        some = self.listed()
        if some is not None:
            return draw.sample(some, min(count, len(some)))
        found: dict[tuple, None] = {}
        lists = list(self.tune_params.values())
        for _ in range(1000 * count):
            if len(found) == count:
                break
            element = tuple(draw.choice(values) for values in lists)
            if element not in found and self.allows(element):
                found[element] = None
        return list(found)
