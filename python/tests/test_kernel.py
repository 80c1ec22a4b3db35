"""heddle.Kernel on the emulated and the CPU device: calls, refusals, and what happens while a call is under way."""

import array
import json
import multiprocessing
import random
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import heddle
from heddle import _heddle, frames
from heddle.errors import DeviceError, Error, InputError, UsageError
from heddle.kernel import Kernel

from foreign_arrays import OnlyDlpack, Strange

SOURCE = """
template <int BlockSize>
__global__ void scale(float a, const float* x, float* y, int n) {
  const int i = static_cast<int>(blockIdx.x) * BlockSize + static_cast<int>(threadIdx.x);
  if (i < n) y[i] = a * x[i];
}
"""
SCALE = {
    "name": "tests/scale",
    "source": "scale.cu",
    "kernel": "scale<{block_size}>",
    "axes": ["n"],
    "parameters": [{"name": "block_size", "values": [32, 64, 128], "default": 64}],
    "grid": "ceil_div(n, block_size)",
    "block": "block_size",
    "arguments": [
        {"name": "a", "type": "float", "value": 2.5},
        {"name": "x", "type": "float", "elements": "n"},
        {"name": "y", "type": "float", "elements": "n", "role": "output"},
        {"name": "n", "type": "int32", "value": "n"},
    ],
}
CPU_SOURCE = """
#include "heddle/kernels/common/cpu_launch.hpp"
template <int Parts>
void scale(const heddle::cpu::LaunchContext& context, void* const* at) {
  const float a = *static_cast<const float*>(at[0]);
  const float* const x = static_cast<const float*>(at[1]);
  float* const y = static_cast<float*>(at[2]);
  const int n = *static_cast<const int*>(at[3]);
  for (int part = context.thread; part < Parts; part += context.threads)
    for (int i = part; i < n; i += Parts) y[i] = a * x[i];
}
"""
CPU_SCALE = SCALE | {
    "language": "cpu",
    "source": "scale.cpp",
    "kernel": "scale<{parts}>",
    "parameters": [{"name": "parts", "values": [64, 1]}],
    "grid": "parts",
}
del CPU_SCALE["block"]


def made(**changes):
    return Kernel(SCALE | changes, sources={"scale.cu": SOURCE}, device="emulator")


@pytest.fixture(scope="module")
def scale():
    return made()


def numbers(count):
    return np.arange(count, dtype=np.float32)


@pytest.mark.parametrize("count", [1, 63, 64, 1000])
def test_a_call_computes_in_place(scale, count):
    x, y = numbers(count), np.full(count, -1, np.float32)
    scale(np.float64(3), x, y, np.int64(count))
    assert np.array_equal(y, 3 * x)


def test_arrays_of_any_library_of_the_hosts_memory(scale):
    x = numbers(100)
    for y in (np.zeros((10, 10), np.float32), array.array("f", [0] * 100), memoryview(np.zeros(100, np.float32))):
        scale(2, x, y, 100)
        assert np.array_equal(np.asarray(y).ravel(), 2 * x)
    y = np.zeros(100, np.float32)
    scale(2, OnlyDlpack(x), OnlyDlpack(y), 100)
    assert np.array_equal(y, 2 * x)
    pieces = np.zeros((2, 100), np.float32)
    scale(4, x, pieces[1], 100)
    assert np.array_equal(pieces, [0 * x, 4 * x])


FILTER_SOURCE = """
__constant__ float taps[3];
__constant__ int shift[1];
__global__ void filter(const float* x, float* y, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) y[i] = taps[0] * x[i] + taps[1] * x[i + 1] + taps[2] * x[i + 2] + static_cast<float>(shift[0]);
}
"""
FILTER = SCALE | {
    "name": "tests/filter",
    "source": "filter.cu",
    "kernel": "filter",
    "arguments": [
        {"name": "taps", "type": "float", "elements": 3, "constant": "taps"},  # before the others in the description
        {"name": "x", "type": "float", "elements": "n + 2"},
        {"name": "y", "type": "float", "elements": "n", "role": "output"},
        {"name": "n", "type": "int32", "value": "n"},
        {"name": "shift", "type": "int32", "elements": 1, "constant": "shift"},
    ],
}


def test_constant_memory_that_is_not_passed_comes_behind_the_other_arguments(tmp_path):
    kernel = Kernel(FILTER, sources={"filter.cu": FILTER_SOURCE}, device="emulator")
    assert kernel.arguments == ["x", "y", "n", "taps", "shift"]
    x, y = numbers(102), np.zeros(100, np.float32)
    for taps, shift in (([1, 2, 4], 0), ([0, -1, 0.5], 7)):  # each call has contents of its own
        taps = np.array(taps, np.float32)
        kernel(x, y, 100, taps, np.array([shift], np.int32))
        assert np.array_equal(y, taps[0] * x[:-2] + taps[1] * x[1:-1] + taps[2] * x[2:] + shift)
    good = np.ones(3, np.float32), np.ones(1, np.int32)
    for bad, line in (((good[0][:2], good[1]), r"argument 4 \(taps\) has 2 numbers, expected 3"),
                      ((good[0].astype(np.float64), good[1]), r"argument 4 \(taps\) has elements of float64"),
                      ((good[0], 7), r"argument 5 \(shift\)")):
        with pytest.raises(InputError, match=line):
            kernel(x, y, 100, *bad)
    with pytest.raises(UsageError, match=r"takes 5 arguments \(x, y, n, taps, shift\), found 3"):
        kernel(x, y, 100)
    kernel.capture(tmp_path / "call", x, y, 100, *good)
    assert (tmp_path / "call").stat().st_size > 4 * (102 + 3)


def test_an_objective_has_profiles_of_its_own(tmp_path):
    where = dict(sources={"scale.cpp": CPU_SOURCE}, device="cpu", profiles=tmp_path / "p", wait=True)
    fast = Kernel(CPU_SCALE, **where)
    (winner,) = fast.tune([{"n": 4096}], budget=5)
    other = "parts=1" if winner["configuration"] == "parts=64" else "parts=64"
    wanted = int(other.removeprefix("parts="))
    odd = Kernel(CPU_SCALE, objective=f"1 + abs(parts - {wanted})", **where)
    assert odd.explain(n=4096)["running"] is None or odd.explain(n=4096)["running"]["tier"] != "exact"
    (found,) = odd.tune([{"n": 4096}], budget=5)
    assert found["configuration"] == other and found["stored"]
    kept = frames.profiles(tmp_path / "p")
    assert sorted(kept["objective"]) == [f"1 + abs(parts - {wanted})", "time"] and len(odd.profiles()) == 2
    assert len(frames.usual(kept)) == 1
    x, y = numbers(4096), np.zeros(4096, np.float32)
    for kernel, configuration in ((Kernel(CPU_SCALE, **where), winner["configuration"]), (odd, other)):
        kernel(2, x, y, 4096)
        assert kernel.explain(n=4096)["running"]["configuration"] == configuration
    with pytest.raises(UsageError, match="asks for 'speed'"):
        Kernel(CPU_SCALE, objective="speed", **where)


def test_a_size_may_be_named_or_follow_from_an_argument(scale):
    x, y = numbers(10), np.zeros(10, np.float32)
    scale(2, x, y, 4)
    assert np.array_equal(y, [0, 2, 4, 6, 0, 0, 0, 0, 0, 0])
    scale(2, x, y, 6, n=6)
    assert np.array_equal(y, [0, 2, 4, 6, 8, 10, 0, 0, 0, 0])
    assert scale.sizes == ["n"] and scale.arguments == ["a", "x", "y", "n"] and scale.device == "emulator"
    by_elements = made(arguments=[*SCALE["arguments"][:3], {"name": "count", "type": "int32", "value": "n"}], version="2")
    y[:] = 0
    by_elements(2, x, y, 10)
    assert np.array_equal(y, 2 * x)


def test_profiles_and_explanations_where_nothing_is_tuned(scale, tmp_path):
    scale.prepare(n=200)
    assert scale.explain(n=200)["running"]["configuration"] == "block_size=64"
    assert scale.explain(n=123456)["running"] is None
    assert "default" in scale.explain(n=200)["text"]
    assert len(scale.profiles()) == 0 and scale.notices() == []


def test_every_wrong_call_is_one_line(scale):
    x, y = numbers(10), np.zeros(10, np.float32)
    read_only = np.zeros(10, np.float32)
    read_only.flags.writeable = False
    on_gpu = Strange(__cuda_array_interface__={"shape": (10,), "typestr": "<f4", "data": (1 << 40, False), "version": 3})
    wrong = [
        ((2, x, y), {}, UsageError, "takes 4 arguments"),
        ((2, x, y, 10, 1), {}, UsageError, "takes 4 arguments"),
        ((2, x, y, 11), {}, InputError, "has 10 numbers, expected 11"),
        ((2, x, y, 11), {"n": 11}, InputError, "has 10 numbers, expected 11"),
        ((2, x, y, 1000), {"n": 10}, UsageError, r"argument 4 \(n\) is 1000, and the size n is 10"),
        ((2, x, y, 6), {"n": 10}, UsageError, r"argument 4 \(n\) is 6, and the size n is 10"),
        ((2, x, y, 10), {"\ud800": 10}, UsageError, "has no size"),
        ((2, x, y, 10), {"m": 10}, UsageError, "has no size 'm'"),
        ((2, x, y, 10), {"n": "ten"}, UsageError, "size n"),
        ((2, x, y, 0), {}, UsageError, "n is 0"),
        ((2, x, y, 1 << 62), {}, InputError, "no int32"),
        ((2, x, y, 10**30), {}, InputError, "no int32"),
        ((2, x, y, 2.0), {}, InputError, "float"),
        (("two", x, y, 10), {}, InputError, "argument 1"),
        ((2, x.astype(np.float64), y, 10), {}, InputError, "elements of float64, expected float32"),
        ((2, x.astype(">f4"), y, 10), {}, InputError, "expected float32"),
        ((2, x.astype(object), y, 10), {}, InputError, "expected float32"),
        ((2, x[::2], y, 5), {}, InputError, "not contiguous"),
        ((2, np.zeros((4, 4), np.float32).T, y, 10), {}, InputError, "not contiguous"),
        ((2, x, read_only, 10), {}, InputError, "can only be read"),
        ((2, x, bytes(40), 10), {}, InputError, "elements of uint8"),
        ((2, list(x), y, 10), {}, InputError, "no array: found list"),
        ((2, None, y, 10), {}, InputError, "no array: found NoneType"),
        ((2, on_gpu, y, 10), {}, InputError, "lies on a GPU, the kernel runs on emulator"),
        ((2, x, y, 10), {"stream": "mine"}, UsageError, "stream"),
    ]
    for arguments, sizes, kind, message in wrong:
        with pytest.raises(kind, match=message) as caught:
            scale(*arguments, **sizes)
        assert "\n" not in str(caught.value)
    scale(2, x, y, 10)
    assert np.array_equal(y, 2 * x)


def line_of(call, kind):
    """The one line of an error."""
    with pytest.raises(kind) as caught:
        call()
    assert type(caught.value) in (kind, TypeError) and "\n" not in str(caught.value)
    return str(caught.value)


INCLUDES = [
    "#include </etc/hostname>", '#include "/etc/hostname"', "  #\tinclude/**/</etc/hostname>", "#include </dev/zero>",
    "#inc\\\nlude </etc/hostname>", "# /* \n */ include </etc/hostname>", "%:include </etc/hostname>", "/* */ #include </etc/hostname>",
    "#include <../../etc/hostname>", "#include <sys/../../../etc/hostname>", '#include "../hostname"', "#include_next </etc/hostname>",
    '#define F </etc/hostname>\n#include F', '#line 1 "/etc/hostname"\n!', '# 1 "/etc/hostname"\n!',
]  # fmt: skip


@pytest.mark.parametrize("line", INCLUDES)
def test_no_directive_names_a_file_outside(line, tmp_path):
    for place in ({"scale.cu": line + "\n" + SOURCE}, {"scale.cu": '#include "a.h"\n' + SOURCE, "a.h": line + "\n"}):
        described = SCALE | ({"headers": ["a.h"]} if "a.h" in place else {})
        text = line_of(lambda: Kernel(described, sources=place, device="emulator"), InputError)
        assert "outside the folder" in text or "a macro names" in text
        assert "allow" not in text  # nothing can be allowed there
    for name, text in {"scale.cu": line + "\n" + SOURCE, "scale.json": json.dumps(SCALE)}.items():
        (tmp_path / name).write_text(text)
    text = line_of(lambda: Kernel(tmp_path / "scale.json", device="emulator"), InputError)
    assert "allow_outside=True allows that" in text and "--" not in text


def test_directives_that_stay_inside():
    source = '#include <cstdint>\n#include "sub/a.h"\n#line 7 "scale.cu"\n// #include </etc/hostname>\n' + SOURCE
    sources = {"scale.cu": source, "sub/a.h": '#pragma once\n#include "b.h"\n', "b.h": "#pragma once\n"}
    kernel = Kernel(SCALE | {"headers": ["sub/a.h", "b.h"]}, sources=sources, device="emulator")
    x, y = numbers(10), np.zeros(10, np.float32)
    kernel(2, x, y, 10)
    assert np.array_equal(y, 2 * x)


@pytest.mark.parametrize(
    "name", ["scale\n#include </etc/hostname>\n", "scale<64>;", 'scale<"a">', "scale#", "scale<64> {", "scale<{block_size}>\r", "scale\\"]
)
def test_a_kernels_name_is_a_name(name):
    assert "a function's name in C++" in line_of(lambda: made(kernel=name), InputError)


def test_no_word_for_the_compiler_is_a_line_of_the_source():
    words = {"extra": ["-DX=1\n#include </etc/hostname>"]}
    assert "'-DX=1" in line_of(lambda: made(options=words), InputError)


def test_arguments_of_other_types_are_one_line(scale, tmp_path):
    x = numbers(10)
    wrong = [
        (lambda: Kernel(SCALE, sources={"scale.cu": SOURCE}, objective=3), "objective: found 3"),
        (lambda: Kernel(SCALE, sources={"scale.cu": SOURCE}, device=3), "device: found 3"),
        (lambda: Kernel(SCALE, sources={"scale.cu": SOURCE}, device="\ud800"), "device: found '.ud800'"),
        (lambda: Kernel(SCALE, sources={"scale.cu": SOURCE}, profiles=3), "profiles: found 3"),
        (lambda: Kernel("\ud800"), "description: found '.ud800'"),
        (lambda: Kernel(SCALE, sources=[SOURCE]), "sources: found list"),
        (lambda: scale.tune([5]), "problems: found 5, expected a dict"),
        (lambda: scale.tune({"n": 5}), "problems: found dict, expected a list"),
        (lambda: scale.tune(5), "problems: found 5, expected a list"),
        (lambda: scale.tune([{"\ud800": 5}]), "problems: a name: found"),
        (lambda: scale.tune([{"n": 32.7}]), "problems: n: found 32.7, expected a whole number"),
        (lambda: scale.tune([{"n": 5}], seed=-1), "seed: found -1, expected 0 to"),
        (lambda: scale.tune([{"n": 5}], seed="one"), "seed: found 'one'"),
        (lambda: scale.tune([{"n": 5}], strategy=5), "strategy: found 5"),
        (lambda: scale.tune([{"n": 5}], budget=float("nan")), "budget: found nan"),
        (lambda: scale.tune([{"n": 5}], budget="ten"), "budget: found 'ten'"),
        (lambda: scale.capture(5, 2, x, x, 10), "file: found 5, expected a path"),
    ]  # fmt: skip
    for call, message in wrong:
        with pytest.raises(UsageError, match=message) as caught:
            call()
        assert "\n" not in str(caught.value)
    assert "sources: 'scale.cu' is NoneType, expected texts" in line_of(lambda: Kernel(SCALE, sources={"scale.cu": None}), InputError)
    assert "sources: 5 is str" in line_of(lambda: Kernel(SCALE, sources={5: SOURCE}), InputError)
    for call in (scale.explain, scale.prepare):  # sizes have names
        assert "positional" in line_of(lambda call=call: call({"n": 1}), TypeError)


def interface(**changes):
    usual = {"shape": (4, 5), "typestr": "<f4", "data": (4096, False), "version": 3}
    return Strange(__cuda_array_interface__={name: value for name, value in {**usual, **changes}.items() if value != "none"})


def test_interfaces_of_gpu_arrays_are_read():
    usual = _heddle.describe_array(interface())
    assert usual == {
        "address": 4096, "bytes": 80, "type": "float32", "contiguous": True, "read_only": False, "place": "gpu", "stream": None,
    }  # fmt: skip
    assert _heddle.describe_array(interface(stream=7))["stream"] == 7
    assert _heddle.describe_array(interface(data=(4096, True)))["read_only"]
    assert _heddle.describe_array(interface(strides=(20, 4)))["contiguous"]
    assert not _heddle.describe_array(interface(strides=(4, 16)))["contiguous"]
    assert _heddle.describe_array(interface(shape=(1, 5), strides=(999, 4)))["contiguous"]
    assert _heddle.describe_array(interface(typestr="|u1"))["type"] == "uint8"
    assert _heddle.describe_array(interface(typestr="<c8"))["type"] == "another type"
    placed = interface()
    placed.__dlpack_device__ = lambda: (2, 3)
    assert _heddle.describe_array(placed)["place"] == 3


def test_shapes_and_strides_are_read_from_every_protocol():
    shape = _heddle.describe_shape
    x = np.zeros((6, 4), np.float32)
    for of, found in ((x, [(6, 16), (4, 4)]), (x[::-2, 1:3], [(3, -32), (2, 4)]), (x.T, [(4, 4), (6, 16)]), (x[0, 0], [])):
        assert shape(of, prefers_gpu=False) == found
        if found:
            assert shape(OnlyDlpack(of)) == found
    assert shape(interface()) == [(4, 20), (5, 4)]
    assert shape(interface(strides=(-40, 0))) == [(4, -40), (5, 0)]
    assert shape(interface(shape=(1, 5), strides=(999, 4))) == [(1, 20), (5, 4)]
    for strides in ((1 << 62, 4), (-(1 << 55), 4), (20, 1 << 54)):
        with pytest.raises(InputError, match="a shape that no array has"):
            shape(interface(strides=strides))


ATTRIBUTES = """
import sys, types
import numpy as np

torch, cupy = types.ModuleType("torch"), types.ModuleType("cupy")
sys.modules |= {"torch": torch, "cupy": cupy}
torch.float32, torch.bfloat16 = object(), object()


class Tensor:
    def __init__(self, of, place=-1, dtype=torch.float32):
        self.of, self.place, self.dtype = of, place, dtype

    def get_device(self):
        return self.place

    def numel(self):
        return self.of.size

    def is_contiguous(self):
        return self.of.flags.c_contiguous

    def data_ptr(self):
        return self.of.ctypes.data


class ndarray:
    def __init__(self, of):
        self.data = types.SimpleNamespace(ptr=of.ctypes.data, device_id=2)
        self.size, self.dtype, self._c_contiguous = of.size, of.dtype, of.flags.c_contiguous


torch.Tensor, cupy.ndarray = Tensor, ndarray
from heddle import _heddle

x = np.zeros((3, 4), np.float32)
look = _heddle.describe_array
common = {"address": x.ctypes.data, "bytes": 48, "type": "float32", "contiguous": True, "read_only": False, "stream": None}
assert look(Tensor(x)) == common | {"place": "host"}
assert look(Tensor(x, 1)) == common | {"place": 1}
assert look(Tensor(x, 0, torch.bfloat16)) == common | {"place": 0, "type": "bfloat16", "bytes": 24}
assert look(Tensor(x, 0, object()))["type"] == "another type"
assert look(ndarray(x)) == common | {"place": 2}
assert not look(ndarray(x[:, ::2]))["contiguous"] and not look(Tensor(x.T))["contiguous"]
"""


def test_cupy_and_pytorch_are_read_by_their_attributes():
    """What stands in for the libraries has their names, so in a process of its own."""
    subprocess.run([sys.executable, "-c", ATTRIBUTES], check=True)


@pytest.mark.parametrize(
    "changes",
    [
        {"shape": "none"}, {"data": "none"}, {"typestr": "none"}, {"shape": [4]}, {"shape": ("4",)}, {"shape": (-1,)},
        {"shape": (1 << 40, 1 << 40)}, {"shape": (1,) * 65}, {"data": 4096}, {"data": (None, False)}, {"data": (-1, False)},
        {"data": (1 << 70, False)}, {"typestr": 4}, {"strides": (4,)}, {"mask": object()}, {"stream": "one"},
    ],
)  # fmt: skip
def test_interfaces_that_make_no_sense_are_refused(changes):
    with pytest.raises(InputError) as caught:
        _heddle.describe_array(interface(**changes))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("device", "tensor"),
    [((1, 0), None), ((1, 0), object()), ((2, 0), "tensor"), ((9, 0), None), (("cpu", 0), None), (None, None), ((1,), None)],
)
def test_dlpack_that_makes_no_sense_is_refused(device, tensor):
    strange = Strange(__dlpack__=lambda **options: tensor, __dlpack_device__=lambda: device)
    with pytest.raises(InputError) as caught:
        _heddle.describe_array(strange)
    assert "\n" not in str(caught.value)
    used = np.zeros(4).__dlpack__()
    once = Strange(__dlpack__=lambda **options: used, __dlpack_device__=lambda: (1, 0))
    assert _heddle.describe_array(once)["type"] == "float64"
    with pytest.raises(InputError, match="capsule"):
        _heddle.describe_array(once)


def test_attributes_that_fail_are_refused_and_ctrl_c_is_not_swallowed():
    class Failing:
        def __init__(self, error):
            self.error = error

        @property
        def __cuda_array_interface__(self):
            raise self.error

    with pytest.raises(InputError, match="lost\\b"):
        _heddle.describe_array(Failing(RuntimeError("lost\nand more")))
    with pytest.raises(KeyboardInterrupt):
        _heddle.describe_array(Failing(KeyboardInterrupt()))


def test_the_gil_is_free_and_memory_is_held_while_a_kernel_is_compiled():
    """Nothing but a release of the GIL lets the other thread run during the call."""
    never_compiled = f"constexpr int kNumber{random.SystemRandom().getrandbits(60)} = 1;\n{SOURCE}"  # so that it takes a while
    kernel = Kernel(SCALE, sources={"scale.cu": never_compiled}, device="emulator")
    x, y = numbers(50), array.array("f", [0] * 50)
    seen = {"inside": 0, "refused": 0}
    state = {"inside": False}
    ended = threading.Event()

    def other():
        while not ended.is_set():
            if state["inside"]:
                seen["inside"] += 1
                try:
                    y.append(1.0)  # would move the memory
                except BufferError:
                    seen["refused"] += 1
            time.sleep(0.001)  # without which the call could not go on

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    thread = threading.Thread(target=other)
    try:
        thread.start()
        state["inside"] = True
        kernel(2, x, y, 50)
        state["inside"] = False
    finally:
        ended.set()
        sys.setswitchinterval(interval)
        thread.join()
    assert seen["inside"] > 0 and seen["refused"] > 0
    assert np.array_equal(np.asarray(y)[:50], 2 * x)
    y.append(1.0)


def test_threads_call_one_kernel(scale):
    failures = []

    def work(factor):
        x, y = numbers(64 + factor), np.zeros(64 + factor, np.float32)
        for _ in range(20):
            y[:] = 0
            scale(factor, x, y, len(x))
            if not np.array_equal(y, factor * x):
                failures.append(factor)

    threads = [threading.Thread(target=work, args=(factor,)) for factor in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_arrays_that_nobody_else_holds(scale):
    y = np.zeros(1000, np.float32)
    scale(2, np.ones(1000, np.float32), y, 1000)
    assert np.array_equal(y, np.full(1000, 2, np.float32))


def test_a_child_process_is_told_to_make_its_own(scale):
    def child(queue):
        try:
            scale(2, numbers(4), np.zeros(4, np.float32), 4)
        except UsageError as error:
            queue.put(str(error))

    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=child, args=(queue,))
    process.start()
    assert "forked" in queue.get(timeout=60)
    process.join(60)
    assert process.exitcode == 0


@pytest.mark.parametrize(
    "description",
    [
        "{", "{}", '{"name": 1}', "{" * 5000, '{"name": "\\u0000"}', '{"name": ' + "9" * 4000 + "}", "[]", "", "/", "\0", 7, None,
        {"name": "x", "source": "/etc/passwd"}, {"name": {1, 2}}, SCALE | {"source": "../scale.cu"},
        SCALE | {"source": "/etc/passwd"}, SCALE | {"source": "other.cu"}, SCALE | {"grid": "1 +"},
        SCALE | {"grid": "__import__('os').system('true')"}, SCALE | {"axes": []}, SCALE | {"options": {"extra": ["-I/etc"]}},
    ],
)  # fmt: skip
def test_descriptions_from_anywhere(description):
    sources = {"scale.cu": SOURCE} if isinstance(description, dict) or str(description).startswith("{") else None
    with pytest.raises(Error) as caught:
        Kernel(description, sources=sources, device="emulator")
    assert "\n" not in str(caught.value)
    assert "heddle-kernel-" not in str(caught.value)


@pytest.mark.parametrize("name", ["../x", "/tmp/x", "", "a/../../x", "x\0y"])
def test_sources_stay_in_their_folder(name):
    with pytest.raises(InputError, match="sources"):
        Kernel(SCALE, sources={name: SOURCE}, device="emulator")


def test_damaged_descriptions_end_with_an_error_or_work():
    text = json.dumps(SCALE)
    draw = random.Random(22)
    refused = 0
    for _ in range(400):
        damaged = list(text)
        for _ in range(draw.randint(1, 4)):
            at = draw.randrange(1, len(damaged))
            damaged[at] = draw.choice(["", '"', "{", "]", ",", "9", "-", "\\", "n", chr(draw.randrange(1, 300))])
        try:
            Kernel("".join(damaged), sources={"scale.cu": SOURCE}, device="emulator")
        except Error as error:
            refused += 1
            assert "\n" not in str(error)
    assert refused > 200


def test_what_a_constructor_refuses(tmp_path):
    file = tmp_path / "scale.json"
    file.write_text(json.dumps(SCALE))
    (tmp_path / "scale.cu").write_text(SOURCE)
    assert Kernel(file, device="emulator").name == made().name  # the same kernel, wherever it came from
    with pytest.raises(UsageError, match="beside it"):
        Kernel(file, sources={}, device="emulator")
    with pytest.raises(UsageError, match="written for cuda"):
        Kernel(file, device="cpu")
    with pytest.raises(DeviceError, match="unknown device"):
        Kernel(file, device="toaster")
    with pytest.raises(InputError):
        Kernel(tmp_path / "none.json", device="emulator")


def test_a_call_is_captured(scale, tmp_path, program):
    y = np.zeros(100, np.float32)
    scale.capture(tmp_path / "call", 2, numbers(100), y, 100)
    assert not y.any()  # it was not launched
    shown = subprocess.run([program, "inspect", str(tmp_path / "call")], capture_output=True, text=True, check=True).stdout
    assert "tests/scale" in shown and "n=100" in shown
    with pytest.raises(InputError, match="has 10 numbers"):
        scale.capture(tmp_path / "other", 2, numbers(10), y, 100)
    assert not (tmp_path / "other").exists()


def test_tuning_on_the_emulator_keeps_nothing(tmp_path):
    kernel = Kernel(SCALE, sources={"scale.cu": SOURCE}, device="emulator", profiles=tmp_path / "p")
    (record,) = kernel.tune([{"n": 100}], budget=20)
    assert record["problem"] == "n=100" and record["configuration"].startswith("block_size=")
    assert not record["stored"] and record["statuses"]["correct"] == 1
    assert len(kernel.profiles()) == 0
    with pytest.raises(UsageError, match="there is no size|expected|has no size"):
        kernel.tune([{"m": 100}], budget=1)
    with pytest.raises(UsageError, match="budget"):
        kernel.tune([{"n": 100}], budget=0)


def test_a_tuned_kernel_of_the_cpu_is_called(tmp_path):
    kernel = Kernel(CPU_SCALE, sources={"scale.cpp": CPU_SOURCE}, device="cpu", profiles=tmp_path / "p", wait=True)
    x, y = numbers(1000), np.zeros(1000, np.float32)
    kernel(3, x, y, 1000)
    assert np.array_equal(y, 3 * x)
    (record,) = kernel.tune([{"n": 1000}], budget=10)
    assert record["stored"] and record["microseconds"] > 0
    assert kernel.explain(n=1000)["awaited"]["tier"] == "exact"
    y[:] = 0
    kernel(4, x, y, 1000)
    assert np.array_equal(y, 4 * x)
    assert kernel.explain(n=1000)["running"]["configuration"] == record["configuration"]
    kept = kernel.profiles()
    assert kept["configuration"].tolist() == [record["configuration"]]
    assert frames.profiles(tmp_path / "p")["family"].tolist() == [kernel.name]


def test_structs_and_small_types():
    source = """
struct Pair { float a; int b; };
__global__ void mix(Pair pair, short h, unsigned char c, const short* x, double* y) {
  if (threadIdx.x == 0) y[0] = pair.a * pair.b + h + c + x[0];
}
"""
    description = {
        "name": "tests/mix",
        "source": "mix.cu",
        "kernel": "mix",
        "axes": ["n"],
        "grid": "1",
        "block": "32",
        "arguments": [
            {"name": "pair", "type": "struct", "bytes": "00" * 8, "alignment": 4},
            {"name": "h", "type": "int16", "value": 0},
            {"name": "c", "type": "uint8", "value": 0},
            {"name": "x", "type": "int16", "elements": "n"},
            {"name": "y", "type": "double", "elements": "n", "role": "output"},
        ],
    }
    kernel = Kernel(description, sources={"mix.cu": source}, device="emulator")
    pair = np.array([(2.5, 4)], dtype=[("a", np.float32), ("b", np.int32)])
    y = np.zeros(1)
    kernel(pair, -5, 7, np.array([3], np.int16), y)
    assert y[0] == 2.5 * 4 - 5 + 7 + 3
    with pytest.raises(InputError, match="has 4 bytes, expected 8"):
        kernel(np.float32(1), -5, 7, np.array([3], np.int16), y)
    with pytest.raises(InputError, match="256, which is no uint8"):
        kernel(pair, -5, 256, np.array([3], np.int16), y)


def test_the_package_has_it():
    assert heddle.Kernel is Kernel
    assert "Kernel" in heddle.__all__
