"""Measures configurations: on a device, or from a cache file."""

from __future__ import annotations

import itertools
import os
import tempfile
from contextlib import closing
from datetime import datetime, timezone
from pathlib import Path
from time import perf_counter

import numpy as np

from heddle import _heddle
from heddle._worker import command
from heddle.errors import Error, InputError, UsageError
from heddle.kernel_tuner.cache import Cache, key_of
from heddle.kernel_tuner.source import KernelSource, block_at, grid_at, shared_bytes_at
from heddle.kernel_tuner.util import (
    CompilationFailedConfig,
    InvalidConfig,
    RuntimeFailedConfig,
    get_config_string,
    process_metrics,
)

_TIMINGS = ("compile_time", "verification_time", "benchmark_time")
#: Configurations of which the launch that expressions describe is compared with Kernel Tuner's own rules.
_COMPARED = 64


def device_label(device) -> str:
    return os.environ.get("HEDDLE_KERNEL_TUNER_DEVICE") or f"cuda:{int(device)}"


class Budget:
    """Seconds and evaluations of one call of `tune_kernel`; None: no limit."""

    def __init__(self, seconds=None, evaluations=None, spent=0.0):
        self._start = perf_counter() - spent
        self.seconds, self.evaluations = seconds, evaluations
        self.evaluated = 0
        self._added = 0.0  # seconds that were simulated

    def spend(self, milliseconds) -> None:
        self._added += milliseconds / 1000

    def is_done(self) -> bool:
        late = self.seconds is not None and perf_counter() - self._start + self._added > self.seconds
        return late or (self.evaluations is not None and self.evaluated >= self.evaluations)


class Bench:
    """A kernel on a device, with the arguments of the call.

    Raises
    ------
    InputError
        A source or an argument that cannot be used.
    DeviceError
        There is no such device.
    """

    def __init__(self, kernel: KernelSource, device: str, first, configurations, profiles: str = ""):
        self.kernel = kernel
        error = None
        for use_expressions in (True, False):
            if use_expressions and kernel.geometry() is None:
                continue
            try:
                self._open(device, first, configurations, use_expressions, profiles)
                if not use_expressions or self._launches_as_described([first, *(configurations or [])][:_COMPARED]):
                    return
            except InputError as refused:
                error = refused
                if configurations is None:
                    raise
        if error is not None:
            raise error

    def _open(self, device, first, configurations, use_expressions, profiles) -> None:
        with tempfile.TemporaryDirectory(prefix="heddle-kernel-tuner-") as folder:
            file, sizes, numbers, contents, self.entries = self.kernel.description(
                Path(folder), first, configurations, use_expressions
            )
            try:
                self._bench = _heddle.KernelBench(str(file), device, command("worker"), sizes, numbers, contents, profiles)
            except InputError as error:
                raise InputError(str(error).replace(f"{folder}/", "")) from None
        self.device = self._bench.device()
        self.name = self._bench.kernel
        self.first = self.entries(first)

    def _launches_as_described(self, elements) -> bool:
        kernel = self.kernel
        for element in elements:
            params = dict(zip(kernel.tune_params, element))
            expected = [
                *grid_at(kernel.problem_size, kernel.grid_div, kernel.names, params),
                *block_at(kernel.names, params),
                shared_bytes_at(kernel.smem_args, params),
            ]
            try:
                if self._bench.violated(self.entries(element)) is None and self._bench.launch(self.entries(element)) != expected:
                    return False
            except Error:
                return False
        return True

    def violated(self, element):
        return self._bench.violated(self.entries(element))

    def compiled(self, elements):
        """Whether each of some configurations compiled, with milliseconds and the compiler's complaint, in their order."""
        self._bench.compile([self.entries(element) for element in elements])
        return lambda: self._collected(len(elements))

    def _collected(self, count: int) -> list:
        found: list = [(False, 0.0, "the compiler was stopped")] * count
        while (done := self._bench.compiled()) is not None:
            index, compiled, seconds, log = done
            found[index] = (compiled, 1000 * seconds, log)
        return found

    def stop_compiling(self) -> None:
        self._bench.wind_up()

    def samples(self, element) -> int:
        return self._bench.samples(self.entries(element))

    def time(self, element, samples: int, repetitions: int) -> dict:
        return self._bench.time(self.entries(element), samples, repetitions)

    def outcome(self, element, wanted=None) -> tuple[list | None, dict]:
        """The arguments after one launch, in their order, as NumPy arrays; and how it ended."""
        names = [
            argument.name
            for i, argument in enumerate(self.kernel.arguments)
            if argument.is_array and not argument.symbol and wanted is not None and wanted[i] is not None
        ]
        told = self._bench.outcome(self.entries(element), names)
        if told["message"]:
            return None, told
        results = []
        for i, argument in enumerate(self.kernel.arguments):
            if argument.symbol:
                continue
            if wanted is not None and wanted[i] is None:
                results.append(None)
            elif not argument.is_array:
                results.append(argument.value)
            elif argument.name in told["after"]:
                value = argument.value
                results.append(np.frombuffer(told["after"][argument.name], dtype=value.dtype).reshape(value.shape).copy())
            else:
                results.append(argument.value.copy())
        return results, told

    def verify(self, element, samples: int) -> dict:
        return self._bench.verify(self.entries(element), samples)

    def agrees(self, element) -> dict:
        return self._bench.agrees(self.entries(element), self.first)

    def record(self, rows, samples: int, strategy: str) -> None:
        self._bench.record([(self.entries(element), *rest) for element, *rest in rows], samples, strategy)

    def keep(self, element, times, samples: int, strategy: str) -> bool:
        return self._bench.keep(self.entries(element), times, samples, strategy)


class Runner:
    """Answers configurations with results, and keeps the account of what took how long.

    A result is a dict: the parameters, what was measured (``time``, milliseconds), the metrics, and what took how long; or
    the parameters and ``__error__``.
    """

    units: dict = {"time": "ms"}

    def __init__(self, tune_params, metrics, quiet: bool, verbose: bool, cache: Cache, budget: Budget):
        self.tune_params, self.metrics = tune_params, metrics
        self.quiet, self.verbose = quiet, verbose
        self.cache, self.budget = cache, budget
        self.strategy_seconds = 0.0
        self.results: list[dict] = []
        self.objectives: list[str] = []  #: what every result that did not fail has to have
        self.complaints: list[str] = []

    def run(self, elements, budget=None) -> list[dict]:
        """Results in the order of the configurations, until the budget is used up."""
        begin = perf_counter()
        found = []
        with closing(self._results(iter(elements))) as results:
            for result in results:
                for name in self.objectives:
                    if "__error__" not in result and name not in result:
                        raise UsageError(f"objective: no result has {name!r}, expected one of {', '.join(result)}")
                found.append(result)
        work = sum(result[name] for result in found for name in _TIMINGS if name in result) / 1000
        framework = max(0.0, perf_counter() - begin - work)
        for result in found:  # shared out over the results, in milliseconds
            result["strategy_time"] = 1000 * self.strategy_seconds / len(found)
            result["framework_time"] = 1000 * framework / len(found)
        if found:
            self.strategy_seconds = 0.0
        self.results += found
        return found

    def _finished(self, element, result: dict) -> dict:
        """Adds metrics and the date, and prints the line."""
        if "__error__" not in result:
            result = process_metrics(result, self.metrics)
        result["timestamp"] = str(datetime.now(timezone.utc))
        self._print(result)
        self.cache.add(element, result)
        return result

    def _print(self, result: dict) -> None:
        if self.quiet:
            return
        keys = [*self.tune_params, "time", *(self.metrics or {})]
        if "__error__" in result:
            keys.append("__error__")
        print(get_config_string(result, keys, self.units))

    def _recalled(self, element) -> dict | None:
        entry = self.cache.entries.get(key_of(element))
        if entry is None:
            return None
        result = {**dict(zip(self.tune_params, element)), **entry, **dict.fromkeys(_TIMINGS, 0)}
        if "__error__" not in result:
            result = process_metrics(result, self.metrics)
        result["timestamp"] = str(datetime.now(timezone.utc))
        return result


class SimulationRunner(Runner):
    """Takes every result from the cache file, and counts the time that it took."""

    units: dict = {}

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.milliseconds = 0.0
        self._seen: set[str] = set()
        if not self.quiet:
            print(f"Simulating: {self.cache.device_name}")

    def environment(self) -> dict:
        return {"device_name": self.cache.device_name, "simulation": True, "simulated_time": self.milliseconds}

    def _results(self, elements):
        for element in elements:
            if self.budget.is_done():
                return
            key = key_of(element)
            if key not in self.cache.entries:
                raise ValueError(f"simulation_mode: the configuration {key} is not in the cache file")
            result = dict(self.cache.entries[key])
            if "__error__" not in result:
                result = process_metrics(result, self.metrics)
            if key in self._seen:
                result |= dict.fromkeys(_TIMINGS, 0)
            else:
                self._seen.add(key)
                self.budget.evaluated += 1
                self._print(result)
            spent = sum(result.get(name, 0) or 0 for name in _TIMINGS)
            self.milliseconds += spent
            self.budget.spend(spent)
            yield result


class DeviceRunner(Runner):
    """Compiles configurations side by side, and runs them one after the other."""

    def __init__(self, bench: Bench, *arguments, iterations, answer, atol, verify, observers, strategy):
        super().__init__(*arguments)
        self.bench = bench
        self.iterations, self.answer, self.atol, self.verify = iterations, answer, atol, verify
        self.observers, self.strategy = observers, strategy
        self.samples: int | None = None
        self._times: dict[tuple, list[float]] = {}  # microseconds a launch
        self._rows: list[tuple] = []
        if not self.quiet:
            print(f"Using: {bench.device['name']}")

    def environment(self) -> dict:
        device = self.bench.device
        return {
            "device_name": device["name"],
            "cuda_version": device["driver"],
            "compute_capability": device["architecture"].replace(".", ""),
            "iterations": self.iterations,
            "compiler_options": self.bench.kernel.compiler_options,
            "compiler": device["compiler"],
            "device_properties": {name: device[name] for name in ("units", "memory_gib", "cache_bytes", "local_bytes")},
            "profile": self.bench.name,
        }

    def _results(self, elements):
        """Two batches are in flight where compiling does not disturb the measurements: one that is measured, and one
        that is compiled meanwhile."""
        threads = self.bench.device["compiler_threads"]
        ahead = 0 if self.bench.device["shares_processor"] else 1
        batches: list[tuple] = []
        try:
            while True:
                while len(batches) <= ahead and not self.budget.is_done():
                    batch = self._batch(elements, 2 * threads)
                    if not batch:
                        break
                    batches.append((batch, self._start(batch)))
                if not batches:
                    return
                batch, collect = batches.pop(0)
                outcomes = dict(collect())
                for element in batch:
                    if self.budget.is_done():
                        return
                    self.budget.evaluated += 1
                    yield self._result(element, outcomes.get(element))
                self._flush()
        finally:
            self.bench.stop_compiling()
            self._flush()

    def _batch(self, elements, most: int) -> list[tuple]:
        """The next configurations, in which `most` have to be compiled."""
        left = None if self.budget.evaluations is None else self.budget.evaluations - self.budget.evaluated
        return list(itertools.islice(elements, most if left is None else max(0, min(most, left))))

    def _start(self, batch):
        wanted = [
            element
            for element in dict.fromkeys(batch)
            if key_of(element) not in self.cache.entries and self.bench.violated(element) is None
        ]
        if not wanted:
            return dict
        collect = self.bench.compiled(wanted)
        return lambda: zip(wanted, collect())

    def _result(self, element, compilation) -> dict:
        recalled = self._recalled(element)
        if recalled is not None:
            return recalled
        result = dict(zip(self.tune_params, element))
        timings = dict.fromkeys(_TIMINGS, 0)
        if compilation is None:
            result["__error__"] = InvalidConfig()
            if self.verbose:
                print(f"skipping {get_config_string(result)}: {self.bench.violated(element)}")
            return self._finished(element, result | timings)
        compiled, timings["compile_time"], log = compilation
        if not compiled:
            return self._failed(element, result, CompilationFailedConfig(), "compilation", log, timings)
        if self.answer is not None or self.verify:
            begin = perf_counter()
            status, why = self._checked(element)
            timings["verification_time"] = 1000 * (perf_counter() - begin)
            if why:
                return self._failed(element, result, RuntimeFailedConfig(), status, why, timings)
        begin = perf_counter()
        measured = self._measured(element, result)
        timings["benchmark_time"] = 1000 * (perf_counter() - begin)
        if isinstance(measured, tuple):
            return self._failed(element, result, RuntimeFailedConfig(), *measured, timings)
        self._rows.append((element, "unverified", self._times[element], timings["compile_time"] / 1000, ""))
        return self._finished(element, result | measured | timings)

    def _failed(self, element, result, error, status, why, timings) -> dict:
        result["__error__"] = error
        self.complaints.append(f"{get_config_string(result, self.tune_params)}: {status}: {why}")
        if self.verbose or status == "wrong_result":
            print(f"skipping {self.complaints[-1]}")
        self._rows.append((element, status, [], timings["compile_time"] / 1000, why))
        return self._finished(element, result | timings)

    def _checked(self, element) -> tuple[str, str]:
        """A status and a reason where the results are wrong."""
        results, told = self.bench.outcome(element, self.answer)
        if results is None:
            return told["status"], told["message"]
        if self.verify:
            correct = self.verify(self.answer, results, atol=self.atol)
        else:
            correct = all(
                expected is None or np.allclose(np.ravel(expected), np.ravel(found), atol=self.atol)
                for expected, found in zip(self.answer, results)
            )
        return ("wrong_result", "the results are not the answer") if not correct else ("", "")

    def _measured(self, element, params):
        """What the observers and the clock say; a status and a reason where it failed."""
        for observer in self.observers:
            observer.register_configuration(params)
        if self.samples is None:
            self.samples = self.bench.samples(element)
        for observer in self.observers:
            observer.before_start()
        told = self.bench.time(element, self.samples, self.iterations)
        for observer in self.observers:
            observer.after_start()
            observer.during()
            observer.after_finish()
        if not told["times"]:
            return told["status"], told["message"]
        self._times[element] = told["times"]
        times = [time / 1000 for time in told["times"]]
        measured = {"time": float(np.mean(times)), "times": times}
        for observer in self.observers:
            run = getattr(observer, "run_continuously", None)
            if run is not None:  # of one that needs a run of seconds
                measured |= run(lambda seconds: self._repeat(element, seconds, measured["time"]), measured)
            else:
                measured |= observer.get_results()
        return measured

    def _repeat(self, element, seconds, milliseconds) -> None:
        launches = max(1, int(1000 * seconds / max(milliseconds, 1e-6)))
        self.bench.time(element, self.samples, max(1, launches // self.samples))

    def _flush(self) -> None:
        if self._rows:
            rows, self._rows = self._rows, []
            self.bench.record(rows, self.samples or 1, self.strategy)

    def keep(self, best: dict) -> str:
        """Makes the best configuration a profile if it can be verified; a line about what became of it."""
        element = tuple(best[name] for name in self.tune_params)
        times = self._times.get(element)
        if times is None:
            return ""
        told = self.bench.verify(element, self.samples)
        if told["status"] == "correct" and self.answer is None and not self.verify:
            told = self._agrees(element)
        if told["status"] != "correct":
            return f"no profile was kept: {told['message'] or told['status']}"
        self.bench.record([(element, "correct", times, 0.0, "")], self.samples, self.strategy)
        self.bench.keep(element, times, self.samples, self.strategy)
        return ""

    def _agrees(self, element) -> dict:
        """Without an answer: whether the results are those of the first configuration."""
        first = tuple(value for _, value in self.bench.first)[: len(self.tune_params)]
        if element == first:
            return {"status": "correct"}
        for compiled, _, log in self.bench.compiled([first])():
            if not compiled:
                return {"status": "unverified", "message": f"nothing to compare with: {log}"}
        return self.bench.agrees(element)
