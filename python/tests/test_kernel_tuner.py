"""The drop-in for Kernel Tuner, on the emulated device and on cache files."""

import importlib.util
import inspect
import json
import os
import subprocess

import numpy as np
import pytest

import heddle.kernel_tuner as kernel_tuner
from heddle import _heddle, frames
from heddle._worker import command
from heddle.errors import DeviceError, InputError, UsageError
from heddle.kernel_tuner import file_utils, strategies, util
from heddle.kernel_tuner.observers import BenchmarkObserver
from heddle.kernel_tuner.observers.nvml import NVMLObserver
from heddle.kernel_tuner.source import KernelSource, grid_at, problem_size_at, signature_of
from heddle.kernel_tuner.space import Space

ADD = """
__global__ void vector_add(float *c, const float *a, const float *b, int n) {
    int i = blockIdx.x * block_size_x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
"""
SIZE = 300


@pytest.fixture(autouse=True)
def emulator(monkeypatch):
    monkeypatch.setenv("HEDDLE_KERNEL_TUNER_DEVICE", "emulator")


@pytest.fixture
def adding():
    a, b = np.arange(SIZE, dtype=np.float32), np.ones(SIZE, np.float32)
    return [np.zeros(SIZE, np.float32), a, b, np.int32(SIZE)]


def tune(arguments, tune_params, source=ADD, name="vector_add", size=SIZE, **options):
    return kernel_tuner.tune_kernel(name, source, size, arguments, tune_params, **{"quiet": True, "iterations": 2, **options})


def test_a_search_through_the_whole_space(adding, capsys, tmp_path):
    answer = [adding[1] + adding[2], None, None, None]
    metrics = {"GB/s": lambda p: 12 * SIZE / p["time"] / 1e6, "twice": "2 * time"}
    results, env = tune(
        adding, {"block_size_x": [32, 64, 128, 2048]}, metrics=metrics, quiet=False, verbose=True, iterations=3, answer=answer,
        cache=tmp_path / "cache",
    )  # fmt: skip
    assert [result["block_size_x"] for result in results] == [32, 64, 128]  # 2048 threads are too many
    keys = ["block_size_x", "time", "times", "compile_time", "verification_time", "benchmark_time", "GB/s", "twice", "timestamp"]
    for result in results:
        assert list(result) == [*keys, "strategy_time", "framework_time"]
        assert len(result["times"]) == 3 and result["time"] == pytest.approx(np.mean(result["times"]))
        assert result["twice"] == 2 * result["time"] and result["verification_time"] > 0
    assert env["best_config"] == min(results, key=lambda result: result["time"])
    assert env["device_name"] and env["iterations"] == 3 and env["total_benchmark_time"] > 0 and "overhead_time" in env
    lines = capsys.readouterr().out.splitlines()
    assert "Searchspace has 3 configurations after restrictions." in lines and "Using: emulated GPU" in lines
    assert sum(line.startswith("block_size_x=64, time=") for line in lines) in (1, 2)
    # The file holds what a later run needs: nothing is measured again, and a simulation gives the same.
    cached = json.loads((tmp_path / "cache.json").read_text())
    assert list(cached["cache"]) == ["32", "64", "128"] and cached["kernel_name"] == "vector_add"
    again, _ = tune(adding, {"block_size_x": [32, 64, 128]}, cache=tmp_path / "cache.json", iterations=3)
    assert [result["times"] for result in again] == [result["times"] for result in results]
    assert all(result["compile_time"] == 0 for result in again)
    simulated, _ = tune(adding, {"block_size_x": [32, 64, 128]}, cache=tmp_path / "cache", simulation_mode=True)
    assert [result["time"] for result in simulated] == [result["time"] for result in results]
    with pytest.raises(ValueError, match="kernel_name"):
        tune(adding, {"block_size_x": [32, 64, 128]}, name="other", cache=tmp_path / "cache")
    with pytest.raises(ValueError, match="problem_size"):
        tune(adding, {"block_size_x": [32, 64, 128]}, size=7, cache=tmp_path / "cache")


def test_configurations_that_fail_are_entries_and_the_others_win(adding):
    source = """
__global__ void vector_add(float *c, const float *a, const float *b, int n) {
    int i = blockIdx.x * block_size_x + threadIdx.x;
#if fault == 1
    this is no C++
#elif fault == 2
    if (i < n) c[i] = a[i] - b[i];
#elif fault == 3
    if (i < n) c[i + 1000000] = a[i] + b[i];
#else
    if (i < n) c[i] = a[i] + b[i];
#endif
}
"""
    answer = [adding[1] + adding[2], None, None, None]
    results, env = tune(adding, {"block_size_x": [64], "fault": [0, 1, 2, 3]}, source, answer=answer)
    errors = {result["fault"]: str(result.get("__error__")) for result in results}
    assert errors == {0: "None", 1: "CompilationFailedConfig", 2: "RuntimeFailedConfig", 3: "RuntimeFailedConfig"}
    assert env["best_config"]["fault"] == 0
    assert isinstance(results[1]["__error__"], util.ErrorConfig)
    with pytest.raises(InputError, match="every configuration failed") as caught:
        tune(adding, {"block_size_x": [64], "fault": [1]}, source)
    assert "\n" not in str(caught.value)


def test_verify_gets_the_results(adding):
    seen = []

    def verify(answer, results, atol=None):
        seen.append((answer[0], results[0].sum(), results[1], atol))
        return results[0].sum() == answer[0]

    total = float((adding[1] + adding[2]).sum())
    tune(adding, {"block_size_x": [64]}, verify=verify, answer=[total, None, None, None], atol=0.5)
    assert seen == [(total, total, None, 0.5)]


def test_run_kernel_returns_all_arguments(adding):
    found = kernel_tuner.run_kernel("vector_add", ADD, SIZE, adding, {"block_size_x": 64}, quiet=True)
    assert np.array_equal(found[0], adding[1] + adding[2]) and not adding[0].any()
    assert np.array_equal(found[1], adding[1]) and found[3] == SIZE
    with pytest.raises(RuntimeError, match="cannot be compiled"):
        kernel_tuner.run_kernel("vector_add", ADD + "no C++", SIZE, adding, {"block_size_x": 64}, quiet=True)
    with pytest.raises(RuntimeError, match="does not allow"):
        kernel_tuner.run_kernel("vector_add", ADD, SIZE, adding, {"block_size_x": 4096}, quiet=True)


def test_two_dimensions_constant_memory_and_expressions():
    source = """
__constant__ float weights[4];
__global__ void weigh(float *y, const float *x) {
    int i = blockIdx.x * block_size_x * tile + threadIdx.x, j = blockIdx.y * block_size_y + threadIdx.y;
    for (int t = 0; t < tile; t++) y[j * gridDim.x * block_size_x * tile + i + t * block_size_x]
        = weights[j % 4] * x[j * gridDim.x * block_size_x * tile + i + t * block_size_x] + grid_size_y + kernel_tuner;
}
"""
    x = np.arange(32 * 8, dtype=np.float32).reshape(8, 32)
    weights = np.array([1, 2, 3, 4], np.float32)
    (y, _) = kernel_tuner.run_kernel(
        "weigh", source, ("width", 8), [np.zeros_like(x), x], {"block_size_x": 8, "block_size_y": 2, "tile": 2, "width": 32},
        grid_div_x=["block_size_x", "tile"], grid_div_y=lambda p: p["block_size_y"], cmem_args={"weights": weights}, quiet=True,
    )  # fmt: skip
    assert y.shape == x.shape and np.array_equal(y, weights[np.arange(8) % 4][:, None] * x + 4 + 1)


def test_functions_make_the_source_the_launch_and_the_macros(adding):
    def source(params):
        return ADD.replace("a[i] + b[i]", f"a[i] + {params['block_size_x']} * b[i]")

    def verify(answer, results, atol):
        return len({*(results[0] - adding[1])}) == 1

    results, _ = tune(
        adding, {"block_size_x": [32, 64]}, source, size=lambda p: (SIZE,), grid_div_x=lambda p: p["block_size_x"],
        smem_args={"size": lambda p: 4 * p["block_size_x"]}, verify=verify, restrictions=lambda p: p["block_size_x"] > 16,
    )  # fmt: skip
    assert [str(result.get("__error__")) for result in results] == ["None", "None"]
    text = ADD.replace("block_size_x", "THREADS").replace("a[i] +", "a[i] + OFFSET +")
    found = kernel_tuner.run_kernel(
        "vector_add", text, SIZE, adding, {"block_size_x": 64}, quiet=True,
        defines={"THREADS": "block_size_x", "OFFSET": lambda p: str(p["block_size_x"] + 1)},
    )  # fmt: skip
    assert np.array_equal(found[0], adding[1] + 65 + adding[2])


def test_sources_of_many_configurations(adding):
    """Each has one of its own, and together they are longer than a source may be."""

    def source(params):
        return ADD.replace("a[i] + b[i]", f"a[i] + {params['number']} * b[i]") + f"// {3000 * 'x'}\n"

    seen = []

    def verify(answer, results, atol):
        seen.append(float((results[0] - adding[1])[0]))
        return True

    params = {"block_size_x": [32, 64], "number": list(range(1500))}
    results, _ = tune(adding, params, source, verify=verify, strategy="random_sample", strategy_options={"max_fevals": 4}, seed=3)
    assert len(results) == 4 and seen == [result["number"] for result in results]
    with pytest.raises(UsageError, match="the source for .* has more than"):
        tune(adding, {"block_size_x": [32]}, lambda p: ADD + (3 << 20) * " ")


def test_templates_and_other_names_of_blocks(adding):
    source = """
template <typename T, int Threads>
__global__ void vector_add(T *c, const T *a, const T *b, int n) {
    int i = blockIdx.x * Threads + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
"""
    results, _ = tune(
        adding, {"threads": [32, 64]}, source, "vector_add<float, threads>", block_size_names=["threads"],
        answer=[adding[1] + adding[2], None, None, None], strategy_options={"max_fevals": 1},
    )  # fmt: skip
    assert [result["threads"] for result in results] == [32] and "time" in results[0]


def test_unrolled_loops():
    source = """
__global__ void sums(float *y, const float *x) {
    float sum = 0;
    #pragma unroll loop_unroll_factor_0
    for (int i = 0; i < 16; i++) sum += x[16 * (blockIdx.x * block_size_x + threadIdx.x) + i];
    y[blockIdx.x * block_size_x + threadIdx.x] = sum;
}
"""
    x = np.ones(64 * 16, np.float32)
    answer = [np.full(64, 16, np.float32), None]
    results, _ = tune(
        [np.zeros(64, np.float32), x], {"block_size_x": [64], "loop_unroll_factor_0": [0, 4]}, source, "sums", 64, answer=answer
    )
    assert ["time" in result for result in results] == [True, True]


class Counting(BenchmarkObserver):
    def __init__(self):
        self.calls = []

    def register_configuration(self, params):
        self.calls.append(params["block_size_x"])

    def before_start(self):
        self.calls.append("before")

    def after_finish(self):
        self.calls.append("after")

    def get_results(self):
        return {"seen": len(self.calls)}


def test_observers_add_results(adding):
    observer = Counting()
    results, _ = tune(adding, {"block_size_x": [32, 64]}, observers=[observer], objective="seen", objective_higher_is_better=True)
    assert observer.calls == [32, "before", "after", 64, "before", "after"]
    assert [result["seen"] for result in results] == [3, 6]
    with pytest.raises(DeviceError, match="NVMLObserver"):
        tune(adding, {"block_size_x": [32]}, observers=[NVMLObserver(["nvml_energy"])])
    with pytest.raises(ValueError, match="observables"):
        NVMLObserver(["nonsense"])


def test_modules_that_are_not_there_say_so():
    """As an ImportError, too, which programs catch."""
    names = ["accuracy", "hyper", "core", "searchspace", "observers.ncu", "observers.pmt", "observers.tegra", "observers.powersensor"]
    for name in names:
        with pytest.raises(UsageError, match=f"heddle.kernel_tuner.{name}: heddle has no such module") as caught:
            importlib.import_module(f"heddle.kernel_tuner.{name}")
        assert isinstance(caught.value, ImportError) and "\n" not in str(caught.value)
    with pytest.raises(UsageError, match="observers.ncu"):
        exec("from heddle.kernel_tuner.observers.ncu import NCUObserver", {})
    for module in ("observers", "observers.observer"):
        with pytest.raises(UsageError, match="heddle has no OutputObserver, but BenchmarkObserver"):
            exec(f"from heddle.kernel_tuner.{module} import OutputObserver", {})
    with pytest.raises(ImportError):
        exec("from heddle.kernel_tuner import accuracy", {})
    assert importlib.import_module("heddle.kernel_tuner.observers.observer").BenchmarkObserver is BenchmarkObserver
    assert not hasattr(kernel_tuner.observers, "nothing")
    assert importlib.util.find_spec("heddle.no_such_module") is None


def test_what_cannot_be_done_is_one_clear_error(adding):
    params = {"block_size_x": [32]}
    wrong = [
        (dict(lang="C"), UsageError, "lang: found 'C'"),
        (dict(lang="OpenCL"), UsageError, "lang: found 'OpenCL'"),
        (dict(source="int main() {}"), UsageError, "lang: found 'C'"),
        (dict(source="__kernel void f() {}"), UsageError, "lang: found 'OpenCL'"),
        (dict(source="no_such_file.cu"), InputError, "no_such_file.cu"),
        (dict(source=7), TypeError, "kernel_source"),
        (dict(texmem_args={"t": adding[0]}), UsageError, "texture memory"),
        (dict(smem_args={"bytes": 4}), UsageError, "smem_args"),
        (dict(answer=[adding[0]]), TypeError, "answer"),
        (dict(restrictions=["block_size_y > 1"]), (ValueError, NameError), "block_size_y"),
        (dict(restrictions=["block_size_x > 64"]), InputError, "no configuration"),
        (dict(strategy="nonsense"), ValueError, "brute_force"),
        (dict(strategy=lambda: 1), UsageError, "expected one of"),
        (dict(strategy_options={"nonsense": 1}), ValueError, "nonsense"),
        (dict(objective="nonsense"), ValueError, "objective_higher_is_better"),
        (dict(metrics=["time"]), ValueError, "metrics"),
        (dict(block_size_names="x"), ValueError, "block_size_names"),
        (dict(observers=[object()]), UsageError, "observers"),
        (dict(simulation_mode=True), ValueError, "cache"),
        (dict(simulation_mode=True, cache="no_such_cache"), ValueError, "does not exist"),
        (dict(defines={"1x": 1}), ValueError, "defines"),
        (dict(grid_div_x=[0]), UsageError, "grid_div_x: the size is divided by 0 at block_size_x=32"),
        (dict(grid_div_x=lambda p: 0), UsageError, "grid_div_x: the size is divided by 0"),
        (dict(grid_div_x="1 / 0"), UsageError, "grid_div: '1 / 0': division by zero"),
        (dict(size=(1, 2, 3, 4)), UsageError, "problem_size: found 4 sizes"),
        (dict(size="nonsense"), UsageError, "problem_size: 'nonsense': name 'nonsense' is not defined"),
        (dict(answer=[adding[0][:7], None, None, None]), UsageError, "answer: element 0 has 7 numbers, the argument 300"),
        (dict(cache="/no_such_folder/cache"), InputError, "cache: '/no_such_folder/cache.json' cannot be written: No such file"),
        (dict(iterations=0), UsageError, "iterations: found 0"),
        (dict(iterations=1.5), UsageError, "iterations: found 1.5"),
        (dict(objective="energy"), UsageError, "objective: found 'energy'"),
        (dict(objective="energy", observers=[Counting()]), UsageError, "objective: no result has 'energy'"),
        (dict(objective="energy", observers=[Counting()], strategy="mls"), UsageError, "objective: no result has 'energy'"),
    ]
    for options, kind, message in wrong:
        with pytest.raises(kind, match=message) as caught:
            tune(adding, params, **options)
        assert "\n" not in str(caught.value)
    for other in ({"block_size_x": [0]}, {"block_size_x": [32], "other": [1, 0]}):
        with pytest.raises(UsageError, match="grid_div_x: the size is divided by 0"):
            tune(adding, other, grid_div_x=["other"] if "other" in other else None)
    with pytest.raises(ValueError, match="forbidden|meaning of its own"):
        tune(adding, {"time": [1]})
    with pytest.raises(TypeError, match="argument 3: found int"):
        tune([*adding[:3], SIZE], params)


def test_signatures_of_the_interface():
    """Positional arguments in the order of Kernel Tuner 1.5.0."""
    parameters = list(inspect.signature(kernel_tuner.tune_kernel).parameters)
    assert parameters[:12] == [
        "kernel_name", "kernel_source", "problem_size", "arguments", "tune_params", "grid_div_x", "grid_div_y", "grid_div_z",
        "restrictions", "answer", "atol", "verify",
    ]  # fmt: skip
    assert list(inspect.signature(kernel_tuner.run_kernel).parameters)[:8] == [*parameters[:4], "params", *parameters[5:8]]


@pytest.fixture
def cache(tmp_path):
    params = {"block_size_x": [16, 32, 64], "tile": [1, 2, 3, 4]}
    entries = {}
    for i, (x, tile) in enumerate((x, tile) for x in params["block_size_x"] for tile in params["tile"] if x * tile <= 128):
        entry = {"block_size_x": x, "tile": tile, "compile_time": 100.0, "verification_time": 0, "benchmark_time": 1.0}
        entry |= {"__error__": "RuntimeFailedConfig"} if i == 3 else {"time": 1.0 + (7 * i) % 10, "times": [1.0]}
        entries[f"{x},{tile}"] = entry
    header = {
        "device_name": "card", "kernel_name": "k", "problem_size": [100], "tune_params_keys": list(params), "tune_params": params,
        "objective": ["time"], "cache": entries,
    }  # fmt: skip
    file = tmp_path / "space.json"
    file.write_text(json.dumps(header))
    return file, params, entries


def simulated(cache, **options):
    file, params, _ = cache
    options = {"restrictions": ["block_size_x * tile <= 128"], **options}
    return kernel_tuner.tune_kernel("k", ADD, (100,), [], params, cache=file, simulation_mode=True, quiet=True, **options)


def test_simulation_gives_the_entries_in_the_order_of_the_space(cache):
    _, _, entries = cache
    results, env = simulated(cache)
    assert [f"{result['block_size_x']},{result['tile']}" for result in results] == list(entries)
    assert [result.get("time") for result in results] == [entry.get("time") for entry in entries.values()]
    assert isinstance(results[3]["__error__"], util.RuntimeFailedConfig)
    assert env["device_name"] == "card" and env["simulation"] and env["simulated_time"] == 101.0 * len(entries)
    assert env["best_config"]["time"] == min(entry["time"] for entry in entries.values() if "time" in entry)
    worst, env = simulated(cache, metrics={"speed": "1 / time"}, objective="speed", objective_higher_is_better=True)
    assert env["best_config"]["speed"] == max(result["speed"] for result in worst if "speed" in result)
    limited, _ = simulated(cache, strategy_options={"time_limit": 0.45})
    assert 3 <= len(limited) <= 5
    with pytest.raises(ValueError, match="64,3 is not in the cache"):
        simulated(cache, restrictions=None)


@pytest.mark.parametrize("strategy", sorted(strategies.NAMES))
def test_every_strategy_finds_its_way(cache, strategy):
    results, env = simulated(cache, strategy=strategy, strategy_options={"max_fevals": 6, "fraction": 1.0}, seed=5)
    keys = [(result["block_size_x"], result["tile"]) for result in results]
    assert len(keys) == 6 == len(set(keys))
    again, _ = simulated(cache, strategy=getattr(strategies, strategy), strategy_options={"max_fevals": 6, "fraction": 1.0}, seed=5)
    assert [(result["block_size_x"], result["tile"]) for result in again] == keys
    assert env["best_config"]["time"] == min(result["time"] for result in results if "time" in result)


def test_several_objectives(cache):
    _, env = simulated(cache, metrics={"threads": "block_size_x"}, objectives={"time": False, "threads": True})
    front = env["best_config"]
    assert all(result["optimal"] for result in front) and len(front) >= 1
    assert max(result["threads"] for result in front) == 64


def test_spaces():
    space = Space({"a": [3, 1, 2], "b": [1, 2]}, ["a >= b", lambda p: p["a"] != 3, lambda b: b < 3], 1024, [])
    assert list(space) == [(1, 1), (2, 1), (2, 2)] and space.size() == 3
    large = Space({name: list(range(10)) for name in "abcdefgh"}, ["a + b < 4", "h % (a - a) == 0"], 1024, ["c"])
    assert large.size() == 10 * 10**6 and large.listed() is None
    sample = large.sample(50, seed=1)
    assert len(set(sample)) == 50 and all(large.allows(element) for element in sample) and sample == large.sample(50, seed=1)


def test_launches_follow_kernel_tuners_rules():
    names = ["block_size_x", "block_size_y", "block_size_z"]
    assert problem_size_at("2 * n", {"n": 3}) == [6, 1, 1] and problem_size_at((4, "n"), {"n": 3}) == [4, 3, 1]
    params = {"block_size_x": 32, "tile": 3}
    assert grid_at(1000, (None, None, None), names, params) == (32, 1, 1)
    assert grid_at(1000, (["block_size_x", "tile"], None, None), names, params) == (11, 1, 1)
    assert grid_at(1000, ([], None, None), names, params) == (1000, 1, 1)
    assert grid_at((1000, 10), (["block_size_x/8"], lambda p: 4, None), names, params) == (250, 3, 1)
    assert signature_of("f", "// f(int x) {\n__global__ void __launch_bounds__(32) f(const int* a, float *b, S<int, 2> s) {}") == [
        ("a", False), ("b", True), ("s", False),
    ]  # fmt: skip
    assert signature_of("g", ADD) == []
    source = KernelSource("vector_add", ADD, 8, [np.zeros(8, np.float32)] * 3 + [np.int32(8)], {"block_size_x": [32]})
    assert [argument.name for argument in source.arguments] == ["c", "a", "b", "n"]
    assert [argument.writes for argument in source.arguments] == [True, False, False, False]


def test_results_as_files(tmp_path, cache):
    results, env = simulated(cache)
    _, params, _ = cache
    file = tmp_path / "results.json"
    for size in (100, (200, 2)):
        kernel_tuner.store_results(file, "k", ADD, params, size, results, env, top=150)
    kernel_tuner.store_results(file, "k", ADD, params, 100, results, env | {"device_name": "other card-2"}, top=0)
    kept = json.loads(file.read_text())
    assert {(row["device_name"], row["problem_size"]) for row in kept["data"]} == {
        ("card", "100"), ("card", "200x2"), ("other_card_2", "100"),
    }  # fmt: skip
    best = env["best_config"]
    assert all(row["time"] < 2.5 * best["time"] or row["time"] == best["time"] for row in kept["data"])
    header = tmp_path / "targets.h"
    kernel_tuner.create_device_targets(header, file)
    (tmp_path / "t.cpp").write_text('#include "targets.h"\nint main() { return block_size_x == X && tile == T ? 0 : 1; }\n')
    for target in ("-DTARGET_card", "-DTARGET_other_card_2", "-DOTHER"):
        words = ["c++", target, f"-DX={best['block_size_x']}", f"-DT={best['tile']}", "t.cpp", "-o", "t"]
        subprocess.run(words, cwd=tmp_path, check=True)
        assert subprocess.run([tmp_path / "t"], check=False).returncode == 0
    with pytest.raises(InputError, match="kernel_name"):
        kernel_tuner.store_results(file, "other", ADD, params, 100, results, env)
    with pytest.raises(InputError):
        kernel_tuner.create_device_targets(header, header)
    nowhere = tmp_path / "results.json" / "x"
    for call, argument in ((lambda: kernel_tuner.store_results(nowhere, "k", ADD, params, 100, results, env), "results_filename"),
                           (lambda: kernel_tuner.create_device_targets(nowhere, file), "header_filename"),
                           (lambda: file_utils.store_output_file(nowhere, results, params), "output_filename"),
                           (lambda: file_utils.store_metadata_file(nowhere), "metadata_filename")):
        with pytest.raises(InputError, match=f"{argument}: .* cannot be written: ") as caught:
            call()
        assert "\n" not in str(caught.value)

    file_utils.store_output_file(str(tmp_path / "t4"), results, params)
    t4 = json.loads((tmp_path / "t4.json").read_text())
    assert [row["invalidity"] for row in t4["results"]].count("runtime") == 1 and t4["schema_version"] == "1.0.0"
    assert t4["results"][0]["configuration"] == {"block_size_x": 16, "tile": 1}
    file_utils.store_metadata_file(str(tmp_path / "metadata.json"))
    assert json.loads((tmp_path / "metadata.json").read_text())["metadata"]["operating_system"] == "Linux"


def test_measurements_go_into_the_profile_database(tmp_path):
    """With a kernel for the CPU, since times on the emulator are not kept."""
    source = """
#include "heddle/kernels/common/cpu_launch.hpp"
template <int Parts>
void fill(const heddle::cpu::LaunchContext& context, void* const* at) {
  float* const y = static_cast<float*>(at[0]);
  for (int part = context.thread; part < Parts; part += context.threads)
    for (int i = part; i < 100; i += Parts) y[i] = 1;
}
"""
    description = {
        "name": "tests/fill", "language": "cpu", "source": "fill.cpp", "kernel": "fill<{parts}>", "axes": ["n"], "grid": "1",
        "parameters": [{"name": "parts", "values": [1, 4]}],
        "arguments": [{"name": "y", "type": "float", "elements": "n", "role": "inout"}],
    }  # fmt: skip
    (tmp_path / "fill.cpp").write_text(source)
    (tmp_path / "fill.json").write_text(json.dumps(description))
    bench = _heddle.KernelBench(
        str(tmp_path / "fill.json"), "cpu", command("worker"), {"n": 100}, {}, {"y": bytes(400)}, str(tmp_path / "p")
    )
    one, four = [("parts", 1)], [("parts", 4)]
    bench.compile([one, four])
    done = [bench.compiled() for _ in range(3)]
    assert sorted(each[0] for each in done[:2]) == [0, 1] and all(each[1] for each in done[:2]) and done[2] is None
    samples = bench.samples(one)
    times = bench.time(four, samples, 3)["times"]
    assert len(times) == 3 and np.frombuffer(bench.outcome(four)["after"]["y"], np.float32).tolist() == [1] * 100
    assert bench.verify(four, samples)["status"] == "correct"
    bench.record([(one, "unverified", [9.0], 0.1, ""), (four, "correct", times, 0.1, "")], samples, "kernel_tuner brute_force")
    assert bench.keep(four, times, samples, "kernel_tuner brute_force")
    kept = frames.profiles(tmp_path / "p")
    assert kept["configuration"].tolist() == ["parts=4"] and kept["problem"].tolist() == ["n=100"]
    assert frames.measurements(tmp_path / "p")["status"].tolist() == ["unverified", "correct"]


def test_outcomes_of_named_buffers_and_their_agreement(tmp_path):
    """With a kernel whose configurations leave the same, something else, or what is no number."""
    source = """
#include "heddle/kernels/common/cpu_launch.hpp"
#include <limits>
template <int Kind>
void fill(const heddle::cpu::LaunchContext& context, void* const* at) {
  if (context.thread != 0) return;
  for (int i = 0; i < 100; ++i) {
    static_cast<float*>(at[0])[i] = i;
    static_cast<float*>(at[1])[i] = Kind == 3 && i == 7 ? std::numeric_limits<float>::quiet_NaN() : Kind == 2 ? 1 : 2;
  }
}
"""
    description = {
        "name": "tests/kinds", "language": "cpu", "source": "kinds.cpp", "kernel": "fill<{kind}>", "axes": ["n"], "grid": "1",
        "parameters": [{"name": "kind", "values": [0, 1, 2, 3]}],
        "arguments": [{"name": name, "type": "float", "elements": "n", "role": "inout"} for name in ("x", "y")],
    }  # fmt: skip
    (tmp_path / "kinds.cpp").write_text(source)
    (tmp_path / "kinds.json").write_text(json.dumps(description))
    contents = {"x": np.zeros(100, np.float32), "y": np.zeros(100, np.float32)}
    bench = _heddle.KernelBench(
        str(tmp_path / "kinds.json"), "cpu", command("worker"), {"n": 100}, {}, contents, str(tmp_path / "p")
    )
    kinds = [[("kind", kind)] for kind in range(4)]
    bench.compile(kinds)
    while bench.compiled() is not None:
        pass
    assert sorted(bench.outcome(kinds[0])["after"]) == ["x", "y"]
    (name,) = bench.outcome(kinds[0], ["x"])["after"]
    assert name == "x"
    assert [bench.agrees(kind, kinds[0])["status"] for kind in kinds] == ["correct"] * 2 + ["wrong_result"] * 2
    assert "off by inf" in bench.agrees(kinds[3], kinds[0])["message"]


def test_without_a_gpu_there_is_one_line(adding, monkeypatch):
    monkeypatch.delenv("HEDDLE_KERNEL_TUNER_DEVICE")
    if any(device["usable"] and device["label"].startswith("cuda") for device in _heddle.devices()):
        pytest.skip("there is a GPU")
    with pytest.raises(DeviceError) as caught:
        tune(adding, {"block_size_x": [32]})
    assert "\n" not in str(caught.value)
    assert not os.environ.get("HEDDLE_KERNEL_TUNER_DEVICE")


def test_a_kernel_as_a_function(adding):
    from heddle.kernel_tuner.kernelbuilder import PythonKernel

    add = PythonKernel("vector_add", ADD, SIZE, adding, {"block_size_x": 64}, outputs=[True, False, False, False])
    (found,) = add(adding[0], 2 * adding[1], adding[2], adding[3])
    assert np.array_equal(found, 2 * adding[1] + adding[2])


def test_every_measurement_passes_the_numbers_of_the_call(tmp_path):
    """The description's own number makes the kernel write behind its buffer, which is looked at after each measurement."""
    source = """
#include "heddle/kernels/common/cpu_launch.hpp"
void set(const heddle::cpu::LaunchContext& context, void* const* at) {
  if (context.thread == 0) static_cast<float*>(at[0])[*static_cast<const int*>(at[1])] = 7;
}
"""
    description = {
        "name": "tests/set", "language": "cpu", "source": "set.cpp", "kernel": "set", "axes": ["n"],
        "arguments": [
            {"name": "y", "type": "float", "elements": "n", "role": "inout"}, {"name": "i", "type": "int32", "value": "n"},
        ],
    }  # fmt: skip
    (tmp_path / "set.cpp").write_text(source)
    (tmp_path / "set.json").write_text(json.dumps(description))
    numbers = {"i": np.int32(2).tobytes()}
    bench = _heddle.KernelBench(
        str(tmp_path / "set.json"), "cpu", command("worker"), {"n": 4}, numbers, {"y": bytes(16)}, str(tmp_path / "p")
    )
    bench.compile([[]])
    assert bench.compiled()[1] and bench.compiled() is None
    for _ in range(3):
        assert bench.time([], 1, 2)["status"] == "unverified"
        assert np.frombuffer(bench.outcome([])["after"]["y"], np.float32).tolist() == [0, 0, 7, 0]
