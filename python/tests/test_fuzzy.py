"""heddle.fuzzy: arrays from NumPy and other libraries and back, what they compute, and what is refused."""

import array
import gc
import multiprocessing
import threading
from fractions import Fraction

import numpy as np
import pytest

from heddle import fuzzy
from heddle.errors import DeviceError, InputError, UsageError
from heddle.reports.sources import program

from foreign_arrays import OnlyDlpack, Strange


@pytest.fixture(scope="module")
def calculator():
    return fuzzy.Calculator("cpu")


def triangles(calculator, count, seed, dtype=np.float64, encoding="lu"):
    """Numbers of three cuts."""
    random = np.random.default_rng(seed)
    middle = random.uniform(-2, 2, count).astype(dtype)
    radius = (random.uniform(0, 1, (count, 1)) * np.array([1, 0.5, 0])).astype(dtype)
    if encoding == "mr":
        return calculator.array(midpoint=middle, radius=radius)
    return calculator.array(lower=middle[:, None] - radius, upper=middle[:, None] + radius)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arrays_come_back(calculator, dtype):
    lower, upper = np.array([[0, 1], [-3, -2]], dtype), np.array([[4, 2], [-1, -2]], dtype)
    x = calculator.array(lower=lower, upper=upper)
    assert (len(x), x.cuts, x.encoding, x.dtype) == (2, 2, "lu", np.dtype(dtype))
    np.testing.assert_array_equal(x.lower, lower)
    np.testing.assert_array_equal(x.upper, upper)
    assert x.lower.dtype == dtype
    y = calculator.array(midpoint=np.array([1, 2], dtype), radius=np.array([[0.5, 0.25], [np.inf, 0]], dtype))
    assert y.encoding == "mr"
    np.testing.assert_array_equal(y.midpoint, [1, 2])
    np.testing.assert_array_equal(y.radius, [[0.5, 0.25], [np.inf, 0]])
    assert repr(y) == f"<2 fuzzy numbers of 2 cuts, mr, {np.dtype(dtype)}, on cpu>"


def test_integers_and_strides_and_single_cuts(calculator):
    x = calculator.array(lower=[1, 2], upper=[3, 4])
    np.testing.assert_array_equal(x.lower, [[1], [2]])
    every_second = np.arange(12.0).reshape(6, 2)[::2]
    y = calculator.array(lower=every_second, upper=(every_second + [[3, 1]]))
    np.testing.assert_array_equal(y.upper, every_second + [[3, 1]])
    x.lower[0] = 7  # a copy
    np.testing.assert_array_equal(x.lower, [[1], [2]])


@pytest.mark.parametrize("device", ["cpu", "emulator"])
@pytest.mark.parametrize("encoding", ["lu", "mr"])
def test_a_formula_contains_what_its_values_give(device, encoding):
    on = fuzzy.Calculator(device)
    x, y = triangles(on, 40, 1, encoding=encoding), triangles(on, 40, 2, encoding=encoding)
    z = on.evaluate("x*y - x/4 + 0.1", x=x, y=y)

    def bounds(array):
        if encoding == "lu":
            return array.lower, array.upper
        return array.midpoint[:, None] - array.radius, array.midpoint[:, None] + array.radius

    (xl, _), (_, yu), (zl, zu) = bounds(x), bounds(y), bounds(z)
    for i in range(40):
        for cut in range(2):  # the last one has no width in midpoint-radius form
            u, v = Fraction(xl[i, cut]), Fraction(yu[i, cut])
            exact = u * v - u / 4 + Fraction(1, 10)
            assert Fraction(zl[i, cut]) <= exact + Fraction(1, 10**12)
            assert Fraction(zu[i, cut]) >= exact - Fraction(1, 10**12)
            if encoding == "lu":
                assert Fraction(zl[i, cut]) <= exact <= Fraction(zu[i, cut])


def test_devices_give_the_same_bits():
    results = []
    for device in ("cpu", "emulator"):
        on = fuzzy.Calculator(device)
        z = on.evaluate("exp(x)/3 + x^2", x=triangles(on, 20, 3))
        results.append((z.lower, z.upper))
    np.testing.assert_array_equal(results[0], results[1])


def test_operators_are_formulas(calculator):
    x, y = triangles(calculator, 9, 4), triangles(calculator, 9, 5)
    for found, formula in ((x + y, "a + b"), (x - y, "a - b"), (x * y, "a * b"), (x / y, "a / b"), (-x, "0 - a"),
                           (x * 2, "a * 2"), (2 - x, "2 - a"), (1 / y, "1 / b"), (x + np.float64(0.5), "a + 0.5")):
        arrays = {name: value for name, value in (("a", x), ("b", y)) if name in formula}
        expected = calculator.evaluate(formula, **arrays)
        np.testing.assert_array_equal(found.lower, expected.lower)
        np.testing.assert_array_equal(found.upper, expected.upper)
    # The double 0.1, not the decimal that it is the closest to: nothing is added to the width.
    tenth = calculator.array(lower=[0.0], upper=[0.0]) + 0.1
    assert tenth.lower[0, 0] == tenth.upper[0, 0] == 0.1
    negative = calculator.array(lower=[0.0], upper=[0.0]) - (-1.5)
    assert negative.lower[0, 0] == 1.5
    for number in (float("nan"), Fraction(1, 3), Fraction(10) ** 400):
        with pytest.raises(InputError, match="expected a finite number that a double holds"):
            x + number
    # Beyond 2^53 a whole number need not be a double: the result encloses it.
    large = calculator.array(lower=[0.0], upper=[0.0]) + (2**53 + 1)
    assert int(large.lower[0, 0]) == 2**53 and int(large.upper[0, 0]) == 2**53 + 2
    assert (calculator.array(lower=[0.0], upper=[0.0]) + 10**30).upper[0, 0] >= 1e30
    with pytest.raises(InputError, match=r"from 2\^53 on"):
        calculator.array(lower=[2**53 + 1], upper=[2**53 + 1])
    with pytest.raises(TypeError):
        x + "1"


def test_sums_and_products(calculator):
    x = calculator.array(lower=[[1, 2], [-3, -2]], upper=[[4, 2], [-1, -2]])
    total, dot = calculator.sum(x), calculator.dot(x, x)
    assert (total.lower.tolist(), total.upper.tolist()) == ([[-2, 0]], [[3, 0]])
    assert (dot.lower.tolist(), dot.upper.tolist()) == ([[2, 8]], [[25, 8]])
    y = calculator.matvec(np.array([[1.0, 0.0], [1.0, -1.0], [2.0, 1.0]]), x)
    assert y.lower.tolist() == [[1, 2], [2, 4], [-1, 2]]
    assert y.upper.tolist() == [[4, 2], [7, 4], [7, 2]]
    matrix = calculator.array(lower=[[1, 1], [0, 0]], upper=[[1, 1], [0, 0]])
    assert calculator.matvec(matrix, x).upper.tolist() == [[4, 2]]


def test_sorts(calculator):
    x = calculator.array(lower=[3.0, 1.0, 2.0, 1.0], upper=[4.0, 2.0, 3.0, 2.0])
    by_centroid, positions = calculator.sort(x)
    assert positions.tolist() == [1, 3, 2, 0]
    assert positions.dtype == np.uint32
    assert by_centroid.lower[:, 0].tolist() == [1, 1, 2, 3]
    by_keys, positions = calculator.sort(x, np.array([np.nan, 2.0, -np.inf, 2.0]))
    assert positions.tolist() == [2, 1, 3, 0]
    assert by_keys.lower[:, 0].tolist() == [2, 1, 1, 3]
    assert x.measure("mean-of-maxima").tolist() == [3.5, 1.5, 2.5, 1.5]
    skewed = calculator.array(lower=[[-9.0, 0.0]], upper=[[1.0, 1.0]])
    assert skewed.measure("ranking-value").tolist() == [-1.75]
    assert skewed.measure("ranking-value", levels=[0, 0]).tolist() == [0.5]


def test_what_is_refused(calculator):
    x = calculator.array(lower=[0.0, 1.0], upper=[1.0, 2.0])
    single = calculator.array(lower=np.float32([0, 1]), upper=np.float32([1, 2]))
    other = fuzzy.Calculator("cpu").array(lower=[0.0, 1.0], upper=[1.0, 2.0])
    refusals = [
        (InputError, "number 1 has a lower bound above", lambda: calculator.array(lower=[0.0, 3.0], upper=[1.0, 2.0])),
        (InputError, "number 0 has a cut outside", lambda: calculator.array(lower=[[0.0, -1]], upper=[[2.0, 1]])),
        (InputError, "number 0 has nan", lambda: calculator.array(lower=[np.nan], upper=[1.0])),
        (InputError, "number 0 has a radius below 0", lambda: calculator.array(midpoint=[0.0], radius=[-1.0])),
        (InputError, "an infinite midpoint", lambda: calculator.array(midpoint=[np.inf], radius=[1.0])),
        (InputError, "expected numbers x cuts", lambda: calculator.array(lower=np.zeros((2, 0)), upper=np.zeros((2, 0)))),
        (InputError, "expected numbers x cuts", lambda: calculator.array(lower=[], upper=[])),
        (InputError, r"shape \(3, 1\), expected \(2, 1\)", lambda: calculator.array(lower=[0.0, 0], upper=[1.0, 1, 1])),
        (InputError, "float64, expected float32", lambda: calculator.array(lower=np.float32([0]), upper=[1.5])),
        (InputError, "array of object", lambda: calculator.array(lower=np.array([None]), upper=[1.0])),
        (InputError, "array of <U1", lambda: calculator.array(lower=["a"], upper=[1.0])),
        (InputError, "array of complex128", lambda: calculator.array(lower=[1j], upper=[1.0])),
        (InputError, "no array of numbers", lambda: calculator.array(lower=[[1.0], [1.0, 2.0]], upper=[1.0])),
        (UsageError, "2 numbers of 65 cuts", lambda: calculator.array(lower=np.zeros((2, 65)), upper=np.ones((2, 65)))),
        (UsageError, "found lower, radius, expected", lambda: calculator.array(lower=[0.0], radius=[1.0])),
        (UsageError, "found nothing, expected", lambda: calculator.array()),
        (UsageError, "'q', which names no array", lambda: calculator.evaluate("x*q", x=x)),
        (UsageError, "formula", lambda: calculator.evaluate("x +", x=x)),
        (UsageError, "expected a fuzzy array", lambda: calculator.evaluate("x", x=1.0)),
        (UsageError, "arrays of one length and form", lambda: x + single),
        (UsageError, "of two calculators", lambda: x + other),
        (UsageError, "of two calculators", lambda: calculator.sum(other)),
        (UsageError, "encoded lu, expected mr", lambda: x.midpoint),
        (UsageError, "found 1 keys, expected one for each of 2", lambda: calculator.sort(x, [1.0])),
        (InputError, "float32, expected float64", lambda: calculator.sort(x, np.float32([1, 2]))),
        (UsageError, "measure: found 'size'", lambda: calculator.sort(x, "size")),
        (UsageError, "levels: found 2, expected one for each of 1", lambda: x.measure(levels=[0, 1])),
        (InputError, "do not fall", lambda: x.measure(levels=[2])),
        (UsageError, "found 3 columns", lambda: calculator.matvec(np.zeros((2, 3)), x)),
        (InputError, "rows x columns", lambda: calculator.matvec(np.zeros(2), x)),
        (InputError, "nan in row 0, column 1", lambda: calculator.matvec([[0.0, np.nan]], x)),
        (DeviceError, "", lambda: fuzzy.Calculator("cuda:99")),
    ]
    for kind, line, call in refusals:
        with pytest.raises(kind, match=line) as caught:
            call()
        assert "\n" not in str(caught.value)


def test_an_array_outlives_the_names_of_its_calculator():
    x = fuzzy.Calculator("cpu").array(lower=[1.0], upper=[2.0])
    assert (x * x).upper[0, 0] == 4.0


def test_threads_take_turns(calculator):
    x = triangles(calculator, 500, 6)
    expected = (x * x).lower
    wrong = []

    def work():
        for _ in range(20):
            if not np.array_equal((x * x).lower, expected):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def _in_child(x, answers):
    try:
        x + x
    except UsageError as error:
        answers.put(str(error))


def test_a_forked_process_is_refused(calculator):
    x = triangles(calculator, 5, 7)
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    child = context.Process(target=_in_child, args=(x, answers))
    child.start()
    assert "parent process" in answers.get(timeout=60)
    child.join(60)
    assert child.exitcode == 0


def test_what_is_no_data_is_refused(calculator):
    with pytest.raises(InputError, match="masked numbers"):
        calculator.array(lower=np.ma.array([1.0, 1e6], mask=[0, 1]), upper=[1.0, 1e6])
    x = calculator.array(lower=[1.0, 2.0], upper=[1.0, 2.0])
    with pytest.raises(InputError, match=r"shape \(0, 2\)"):
        calculator.matvec(np.ones((0, 2)), x)
    with pytest.raises(UsageError, match="expected a formula as text"):
        calculator.evaluate(None, x=x)
    with pytest.raises(UsageError, match="expected a name"):
        fuzzy.Calculator(3)


class Tensor:
    """What PyTorch's have on the host."""

    def __init__(self, of):
        self._of = of

    def __array__(self, dtype=None, copy=None):
        return self._of if dtype is None else self._of.astype(dtype)

    @property
    def __cuda_array_interface__(self):
        raise AttributeError("not on a GPU")


@pytest.mark.parametrize("device", ["cpu", "emulator"])
def test_arrays_of_any_library_of_the_hosts_memory(device):
    on = fuzzy.Calculator(device)
    lower, upper = np.array([1.0, -2.0, 3.0]), np.array([2.0, 2.0, 3.0])
    for library in (OnlyDlpack, Tensor, list, memoryview, lambda of: array.array("d", of)):
        x = on.array(lower=library(lower), upper=library(upper))
        np.testing.assert_array_equal(x.lower[:, 0], lower)
        np.testing.assert_array_equal(x.upper[:, 0], upper)
        y = on.array(midpoint=library(lower), radius=library(upper))
        np.testing.assert_array_equal(y.radius[:, 0], upper)
    wide = OnlyDlpack(np.arange(24.0).reshape(4, 6)[::-1, 1::2])
    np.testing.assert_array_equal(on.array(midpoint=np.zeros(4), radius=OnlyDlpack(-np.sort(-np.ones((4, 3))))).radius, 1)
    with pytest.raises(InputError, match="number 0 has a cut outside"):
        on.array(lower=wide, upper=wide)
    if device == "cpu":
        keys = OnlyDlpack(np.array([3.0, 1.0, 2.0]))
        assert on.sort(x, keys)[1].tolist() == [1, 2, 0]
        assert on.matvec(OnlyDlpack(np.array([[1.0, 0.0, 2.0]])), x).upper.tolist() == [[8.0]]
        assert x.measure(levels=OnlyDlpack(np.array([0.5]))).tolist() == [1.5, 0.0, 3.0]


@pytest.fixture
def on_device(monkeypatch):
    """A calculator that takes the host's arrays as those of its own memory: the emulator's kernels see both."""
    monkeypatch.setattr(fuzzy, "_is_on_gpu", lambda values, what: not isinstance(values, list))
    return fuzzy.Calculator("emulator")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arrays_of_the_devices_memory_are_taken_there(on_device, dtype):
    random = np.random.default_rng(11)
    middle, half = random.uniform(-2, 2, (301, 1)), random.uniform(0, 1, (301, 1)) * np.array([1, 0.5, 0.25])
    lower, upper = (middle - half).astype(dtype), (middle + half).astype(dtype)
    table = np.concatenate((lower, np.full((301, 1), np.nan, dtype), upper), axis=1)
    for low, high in ((lower, upper), (np.asfortranarray(lower), upper), (table[:, :3], table[:, 4:]),
                      (OnlyDlpack(lower), OnlyDlpack(np.asfortranarray(upper)))):
        x = on_device.array(lower=low, upper=high)
        np.testing.assert_array_equal(x.lower, lower)
        np.testing.assert_array_equal(x.upper, upper)
        assert x.dtype == dtype
    backwards = on_device.array(lower=lower[::-2, 1], upper=upper[::-2, 1])
    np.testing.assert_array_equal(backwards.upper[:, 0], upper[::-2, 1])
    y = on_device.array(midpoint=np.broadcast_to(lower[0, 0], 301), radius=half.astype(dtype)[:, ::1])
    np.testing.assert_array_equal(y.midpoint, np.full(301, lower[0, 0]))
    np.testing.assert_array_equal(y.radius, half.astype(dtype))
    lower[:] = upper[:] = 0  # what the caller does afterwards is nothing to the array
    assert (x.lower != 0).any()


def test_other_arguments_of_the_devices_memory(on_device):
    x = on_device.array(lower=[1.0, -2.0, 3.0], upper=[2.0, 2.0, 3.0])
    keys = np.array([[3.0, 0.0], [1.0, 0.0], [2.0, 0.0]])[:, 0]
    numbers, positions = on_device.sort(x, keys)
    assert positions.tolist() == [1, 2, 0] and numbers.upper[:, 0].tolist() == [2, 3, 2]
    matrix = np.array([[1.0, 1.0], [0.0, 1.0], [2.0, 0.0]])
    assert on_device.matvec(matrix.T, x).upper.tolist() == [[8.0], [4.0]]
    assert x.measure(levels=np.array([0.5])).tolist() == [1.5, 0.0, 3.0]
    refusals = [
        (InputError, "number 7 has a radius below 0",
         lambda: on_device.array(midpoint=np.zeros(9), radius=6.5 - np.arange(9.0))),
        (InputError, "number 0 has a lower bound above", lambda: on_device.array(lower=np.ones(2), upper=np.zeros(2))),
        (InputError, "lower: found an array of int64", lambda: on_device.array(lower=np.arange(3), upper=np.arange(3))),
        (InputError, "upper: found an array of float32, expected float64",
         lambda: on_device.array(lower=np.zeros(3), upper=np.zeros(3, np.float32))),
        (InputError, "found an array of another type", lambda: on_device.array(lower=np.zeros(3, complex), upper=np.zeros(3))),
        (InputError, r"upper: found an array of shape \(2, 1\), expected \(3, 1\)",
         lambda: on_device.array(lower=np.zeros(3), upper=np.zeros(2))),
        (InputError, "expected numbers x cuts", lambda: on_device.array(lower=np.zeros((2, 2, 2)), upper=np.zeros(2))),
        (InputError, "expected numbers x cuts", lambda: on_device.array(lower=np.zeros((2, 0)), upper=np.zeros((2, 0)))),
        (InputError, "expected numbers x cuts", lambda: on_device.array(lower=np.float64(1), upper=np.zeros(2))),
        (InputError, "lower: lies in the host's memory, expected that of emulator as of upper",
         lambda: on_device.array(lower=[0.0], upper=np.ones(1))),
        (InputError, "upper: lies in the host's memory, expected that of emulator as of lower",
         lambda: on_device.array(lower=np.zeros(1), upper=[1.0])),
        (InputError, "lower: its numbers lie at no multiples of 8 bytes",
         lambda: on_device.array(lower=np.zeros(25, np.uint8)[1:].view(np.float64), upper=np.ones(3))),
        (InputError, "lower: is no array: found object", lambda: on_device.array(lower=object(), upper=np.ones(3))),
        (UsageError, "2 numbers of 65 cuts", lambda: on_device.array(lower=np.zeros((2, 65)), upper=np.ones((2, 65)))),
        (UsageError, "found 2 keys, expected one for each of 3", lambda: on_device.sort(x, np.zeros(2))),
        (InputError, "keys: found an array of shape", lambda: on_device.sort(x, np.zeros((3, 1)))),
        (InputError, "nan in row 1, column 2", lambda: on_device.matvec(np.array([[0, 1, 2], [3, 4, np.nan]]), x)),
        (UsageError, "found 2 columns", lambda: on_device.matvec(np.zeros((3, 2)), x)),
        (InputError, "do not fall", lambda: x.measure(levels=np.empty((0, 1)))),
    ]
    for kind, line, call in refusals:
        with pytest.raises(kind, match=line) as caught:
            call()
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("device", ["cpu", "emulator"])
def test_arrays_of_a_gpu_are_refused_elsewhere(device):
    on = fuzzy.Calculator(device)
    interface = {"shape": (2,), "typestr": "<f8", "data": (4096, False), "version": 3}

    def broken(*_, **options):
        raise RuntimeError("two\nlines")

    for given, line in (
        (Strange(__cuda_array_interface__=interface), f"lower: lies on a GPU, the calculator runs on {device}"),
        (Strange(__cuda_array_interface__=interface, __dlpack_device__=lambda: (2, 3)), "lower: lies on GPU 3, the calculator"),
        (Strange(__cuda_array_interface__=interface | {"shape": None}), "lower: has an interface whose shape"),
        (Strange(__cuda_array_interface__=7), "no dictionary"),
        (Strange(__dlpack__=lambda **_: None, __dlpack_device__=lambda: (2, 0)), "lower: gives no DLPack capsule"),
        (Strange(__dlpack__=lambda **_: None, __dlpack_device__=lambda: (1, 0)), "lower: found no array of numbers"),
        (Strange(__dlpack__=broken, __dlpack_device__=lambda: (2, 0)), "lower: cannot be looked at: two"),
        (Strange(__dlpack__=broken, __dlpack_device__=broken), "lower: cannot be looked at: two lines"),
        (np.array([1.0, None]), "lower: found an array of object, expected float32 or float64"),
    ):
        with pytest.raises(InputError, match=line) as caught:
            on.array(lower=given, upper=np.ones(2))
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("device", ["cpu", "emulator"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_views_are_the_numbers_where_they_lie(device, dtype):
    on = fuzzy.Calculator(device)
    x, y = triangles(on, 50, 8, dtype), triangles(on, 50, 9, dtype, encoding="mr")
    for of, part in ((x, "lower"), (x, "upper"), (y, "midpoint"), (y, "radius")):
        view, expected = of.view(part), getattr(of, part)
        assert view.shape == expected.shape and view.dtype == dtype and view.__dlpack_device__() == (1, 0)
        assert not hasattr(view, "__cuda_array_interface__")
        taken = [np.asarray(view), np.from_dlpack(view), np.array(view)]
        for found in taken:
            assert found.dtype == dtype
            np.testing.assert_array_equal(found, expected)
        assert not taken[0].flags.writeable and np.shares_memory(taken[0], taken[1])
        assert not np.shares_memory(taken[0], taken[2])
        np.testing.assert_array_equal(np.asarray(view, np.float16), expected.astype(np.float16))
    low, high = np.asarray(x.view("lower")), np.asarray(x.view("upper"))
    assert high.ctypes.data - low.ctypes.data == low.itemsize
    np.testing.assert_array_equal(on.array(lower=x.view("lower"), upper=x.view("upper")).lower, x.lower)
    again = fuzzy.Calculator("cpu").array(midpoint=y.view("midpoint"), radius=y.view("radius"))
    np.testing.assert_array_equal(again.radius, y.radius)


def test_what_was_taken_keeps_the_numbers_alive():
    def make():
        on = fuzzy.Calculator("cpu")
        x = triangles(on, 1000, 12)
        z = on.evaluate("x + 1", x=x)
        z.view("lower").__dlpack__()  # nobody takes this one
        return [np.asarray(z.view("lower")), np.from_dlpack(z.view("upper")), z.view("upper")], (z.lower, z.upper, z.upper)

    taken, expected = make()
    for _ in range(5):
        gc.collect()
        make()
    for found, wanted in zip(taken, expected):
        np.testing.assert_array_equal(found, wanted)


def test_views_that_are_refused(calculator):
    x, y = triangles(calculator, 3, 1), triangles(calculator, 3, 1, encoding="mr")
    for of, part, line in ((x, "radius", "found 'radius', expected 'lower' or 'upper'"), (y, "lower", "'midpoint' or 'radius'"),
                           (x, "", "found ''")):
        with pytest.raises(UsageError, match=line):
            of.view(part)
    view = x.view("lower")
    for options in ({"copy": True}, {"dl_device": (2, 0)}):
        with pytest.raises(BufferError):
            view.__dlpack__(**options)
    assert view.__dlpack__(stream=None, max_version=(1, 0), dl_device=(1, 0), copy=False) is not None
    with pytest.raises(ValueError, match="needs a copy"):
        view.__array__(np.float32, copy=False)
    with pytest.raises((ValueError, RuntimeError)):
        np.asarray(view)[0] = 1


def _views_in_child(view, answers):
    try:
        np.asarray(view)
    except UsageError as error:
        answers.put(str(error))


def test_a_view_in_a_forked_process_is_refused(calculator):
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    child = context.Process(target=_views_in_child, args=(triangles(calculator, 5, 7).view("lower"), answers))
    child.start()
    assert "parent process" in answers.get(timeout=60)
    child.join(60)
    assert child.exitcode == 0


@pytest.mark.skipif(program() is None, reason="no program heddle")
def test_a_formula_is_tuned_and_explained(tmp_path):
    on = fuzzy.Calculator("cpu", profiles=tmp_path / "profiles.sqlite")
    x = triangles(on, 20000, 13)
    assert len(on.profiles()) == 0
    before = on.explain("x*x + 1/4", x)
    assert before["running"] is None and before["kernel"].startswith("fuzzy-map-lu@")
    expected = on.evaluate("x*x + 1/4", x=x).upper
    assert on.explain("x*x + 1/4", x)["running"]["tier"] != "exact"
    profile = on.tune("y*y + 1/4", x, budget=5)
    (kept,) = on.profiles().to_dict("records")
    assert kept["family"] == before["kernel"] and kept["configuration"] == profile["configuration"]
    assert on.explain("x*x + 1/4", x)["running"] is None  # it chooses anew
    np.testing.assert_array_equal(on.evaluate("x*x + 1/4", x=x).upper, expected)
    running = on.explain("x*x + 1/4", x)["running"]
    assert running["tier"] == "exact" and running["configuration"] == profile["configuration"]
    for call in (lambda: on.explain("x +", x), lambda: on.tune("x +", x), lambda: on.explain("x", 1.0),
                 lambda: on.tune("x", fuzzy.Calculator("cpu").array(lower=[1.0], upper=[1.0]))):
        with pytest.raises(UsageError):
            call()
