"""Arrays of fuzzy numbers on a device, with results whose cuts contain every exact result.

Arguments that are arrays may be NumPy's or of any other library. On a GPU, arrays with ``__cuda_array_interface__`` or DLPack
(CuPy, PyTorch, JAX, Numba) stay there: they are copied into the fuzzy array after what their library's current stream has to do,
and the call returns when that is done, so that they may be changed or freed afterwards. Nobody may write them during the call.
They may have gaps and any order of strides, and have to be float32 or float64. Arrays of the host go to whatever device it is.
`Array.view` gives results to these libraries, without a copy.

>>> import numpy as np
>>> from heddle import fuzzy
>>> calculator = fuzzy.Calculator("cpu")
>>> x = calculator.array(lower=[[1.0, 2.0]], upper=[[4.0, 3.0]])
>>> y = calculator.evaluate("x*x + 1", x=x)
>>> y.lower, y.upper
(array([[2., 5.]]), array([[17., 10.]]))
"""

from __future__ import annotations

import math
import numbers
import os
from decimal import Decimal

import numpy as np

from heddle import _heddle
from heddle.errors import InputError, UsageError

__all__ = ["Array", "Calculator", "View"]

_GPU_MEMORY = (2, 13)  # of DLPack's kinds of devices: that of a GPU, and what the GPU and the host share


def _is_on_gpu(values, what):
    try:
        if hasattr(values, "__cuda_array_interface__"):
            return True
        where = getattr(values, "__dlpack_device__", None)
        return where is not None and where()[0] in _GPU_MEMORY
    except Exception as error:
        raise InputError(f"{what}: cannot be looked at: {error}".replace("\n", " ")) from None


def _on_host(values, what):
    """As an array of NumPy's, of float32 or float64."""
    try:
        if not hasattr(values, "__array__") and hasattr(values, "__dlpack__"):
            values = np.from_dlpack(values)
        array = np.asarray(values)
    except Exception as error:  # whatever the array's library raises
        raise InputError(f"{what}: found no array of numbers ({error})".replace("\n", " ")) from None
    if np.ma.is_masked(values):
        raise InputError(f"{what}: found masked numbers, expected all of them")
    if array.dtype.kind in "iu":
        reals = array.astype(np.float64)
        if not np.all(np.abs(reals) < 2.0**53):  # from there on a double may be another number
            raise InputError(f"{what}: found whole numbers from 2^53 on, expected float32 or float64")
        array = reals
    return array


def _all_digits(real):
    """Of a real number: a shorter decimal would be another one, and would be enclosed."""
    if isinstance(real, numbers.Integral):
        return str(int(real))
    try:
        double = float(real)
    except OverflowError:
        double = math.inf
    if not math.isfinite(double) or double != real:
        raise InputError(f"fuzzy arrays: found {real!r}, expected a finite number that a double holds")
    return f"{Decimal(double):f}"


class View:
    """Numbers of an :class:`Array` where they lie, which :meth:`Array.view` makes; for any library to take without a copy.

    On a GPU it has ``__cuda_array_interface__`` and DLPack (``cupy.asarray(view)``, ``torch.from_dlpack(view)``), on the CPU and
    the emulator DLPack and ``__array__`` (``np.asarray(view)``); on a GPU ``__array__`` copies to the host. Asking for one of them
    waits until the numbers are computed, so that they may be used on any stream.

    The fuzzy array lives as long as the view or an array that was made from it. It shares its memory with other fuzzy
    arrays and must not be written; ``__cuda_array_interface__`` and ``__array__`` say so, DLPack cannot.
    """

    def __init__(self, view, copy):
        self._own = view
        self._copy = copy  # makes an array of NumPy's

    @property
    def shape(self):
        """(numbers, cuts), or (numbers,) of midpoints."""
        return self._own.shape

    @property
    def dtype(self):
        """float32 or float64."""
        return np.dtype(np.float32 if self._own.bits == 32 else np.float64)

    def __repr__(self):
        return f"<view of fuzzy numbers, shape {self.shape}, {self.dtype}>"

    @property
    def _is_on_gpu(self):
        return self._own.device[0] in _GPU_MEMORY

    @property
    def __cuda_array_interface__(self):
        if not self._is_on_gpu:
            raise AttributeError("__cuda_array_interface__: these numbers lie in the host's memory")
        return self._own.interface()

    def __dlpack_device__(self):
        return self._own.device

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """A capsule of DLPack's version 0, which every library takes.

        Raises
        ------
        BufferError
            A copy is asked for, or memory of another device.
        """
        if copy or (dl_device is not None and tuple(dl_device) != self._own.device):
            raise BufferError("a view of fuzzy numbers is no copy, and lies on the device that __dlpack_device__ names")
        return self._own.capsule()

    def __array__(self, dtype=None, copy=None):
        dtype = self.dtype if dtype is None else np.dtype(dtype)
        if copy is False and (self._is_on_gpu or dtype != self.dtype):
            raise ValueError("NumPy needs a copy of numbers that lie on a GPU or have another type")
        if self._is_on_gpu:
            return self._copy().astype(dtype, copy=False)
        array = np.from_dlpack(self)
        array.flags.writeable = False
        return array.astype(dtype, copy=bool(copy))


class Array:
    """Fuzzy numbers on a device, which :meth:`Calculator.array` and the operations make. It never changes.

    ``+ - * /`` with arrays of the same length and form or with real numbers, and minus, work number by number, each in one
    launch: a formula given to :meth:`Calculator.evaluate` is faster than several of them.
    """

    def __init__(self, calculator, numbers_on_device):
        self._calculator = calculator
        self._own = numbers_on_device
        self._host = None

    def __len__(self):
        return self._own.size

    def __repr__(self):
        return (f"<{len(self)} fuzzy numbers of {self.cuts} cuts, {self.encoding}, {self.dtype}, "
                f"on {self._calculator.device}>")

    @property
    def cuts(self):
        """Cuts of a number."""
        return self._own.cuts

    @property
    def encoding(self):
        """``"lu"``: lower and upper bounds; ``"mr"``: midpoint and radii."""
        return self._own.encoding

    @property
    def dtype(self):
        """Of bounds, midpoints and radii."""
        return np.dtype(np.float32 if self._own.bits == 32 else np.float64)

    def _components(self):
        if self._host is None:
            self._host = np.frombuffer(self._own.components(), self.dtype).reshape(len(self), -1)
        return self._host

    def _of(self, encoding, what):
        if self.encoding != encoding:
            raise UsageError(f"{what}: found an array encoded {self.encoding}, expected {encoding}")
        return self._components()

    @property
    def lower(self):
        """ndarray of shape (numbers, cuts): lower bounds, the widest cut first. Of an array encoded ``"lu"``."""
        return self._of("lu", "lower")[:, 0::2].copy()

    @property
    def upper(self):
        """ndarray of shape (numbers, cuts): upper bounds, the widest cut first. Of an array encoded ``"lu"``."""
        return self._of("lu", "upper")[:, 1::2].copy()

    @property
    def midpoint(self):
        """ndarray of shape (numbers,): midpoints. Of an array encoded ``"mr"``."""
        return self._of("mr", "midpoint")[:, 0].copy()

    @property
    def radius(self):
        """ndarray of shape (numbers, cuts): radii, the widest cut first. Of an array encoded ``"mr"``."""
        return self._of("mr", "radius")[:, 1:].copy()

    def view(self, part):
        """Bounds, midpoints or radii where they lie, for CuPy, PyTorch, NumPy and others to take without a copy.

        Parameters
        ----------
        part : {"lower", "upper", "midpoint", "radius"}
            The first two of an array encoded ``"lu"``, the others of one encoded ``"mr"``.

        Returns
        -------
        View
            Of shape (numbers, cuts), or (numbers,) for midpoints. Only to be read.

        Raises
        ------
        UsageError
            The array has no such part.
        """
        return View(self._own.view(part), lambda: getattr(self, part))

    def measure(self, by="centroid", levels=None):
        """A real number that stands for each fuzzy one; rounded to nearest, no bound of anything.

        Parameters
        ----------
        by : {"centroid", "mean-of-maxima", "ranking-value"}
            Which one; docs/fuzzy.md has the definitions and their sources.
        levels : array of shape (cuts,), optional
            Of the cuts, from 0 to 1, not falling; by default in even steps.

        Returns
        -------
        ndarray of shape (numbers,)
            In the type of the array. Not finite where a cut is the whole line.

        Raises
        ------
        UsageError
            There is no such measure, or not one level for each cut.
        InputError
            Levels that fall, or are not from 0 to 1.
        """
        level = np.empty(0)
        if levels is not None:
            given = self._calculator._reals(levels, "levels")
            level = np.ascontiguousarray(self._calculator._host(given), dtype=np.float64)
            if level.ndim != 1 or not (np.all(level >= 0) and np.all(level <= 1) and np.all(np.diff(level) >= 0)):
                raise InputError(f"levels: found {levels!r}, expected numbers from 0 to 1 that do not fall")
        return np.frombuffer(self._own.measure(by, level), self.dtype).copy()

    def _with(self, other, operator, swapped=False):
        left, right = ("b", "a") if swapped else ("a", "b")
        if isinstance(other, Array):
            return self._calculator.evaluate(f"a {operator} b", a=self, b=other)
        if isinstance(other, numbers.Real) and not isinstance(other, bool):
            number = f"({_all_digits(other)})"
            operands = {"a": "a", "b": number}
            return self._calculator.evaluate(f"{operands[left]} {operator} {operands[right]}", a=self)
        return NotImplemented

    __array_ufunc__ = None  # NumPy's numbers leave operations to the following

    def __add__(self, other):
        return self._with(other, "+")

    def __radd__(self, other):
        return self._with(other, "+", swapped=True)

    def __sub__(self, other):
        return self._with(other, "-")

    def __rsub__(self, other):
        return self._with(other, "-", swapped=True)

    def __mul__(self, other):
        return self._with(other, "*")

    def __rmul__(self, other):
        return self._with(other, "*", swapped=True)

    def __truediv__(self, other):
        return self._with(other, "/")

    def __rtruediv__(self, other):
        return self._with(other, "/", swapped=True)

    def __neg__(self):
        return self._calculator.evaluate("-a", a=self)


class Calculator:
    """Makes arrays of fuzzy numbers on one device, and computes with them.

    Kernels are chosen from the profiles and compiled when an operation comes for the first time at some sizes. Results
    are the same bit by bit on every device, but for the sign of a zero.

    Parameters
    ----------
    device : str, optional
        ``"cuda:0"``, ``"cpu"``, ``"emulator"``; by default the best one.
    profiles : path, optional
        The profile database to choose from; by default the program's.

    Raises
    ------
    DeviceError
        There is no such device.
    """

    def __init__(self, device=None, profiles=None):
        if device is not None and not isinstance(device, str):
            raise UsageError(f"device: found {device!r}, expected a name as 'cuda:0'")
        self._profiles = None if profiles is None else os.fspath(profiles)
        self._own = _heddle.FuzzyCalculator(device or "", self._profiles or "")

    @property
    def device(self):
        """``"cuda:0"``"""
        return self._own.device

    def array(self, *, lower=None, upper=None, midpoint=None, radius=None):
        """Fuzzy numbers from their cuts: bounds, or midpoints and radii.

        Parameters
        ----------
        lower : array of shape (numbers, cuts) or (numbers,), optional
            Lower bounds of the cuts, the widest first; float32 or float64, which the result has.
        upper : array of shape (numbers, cuts) or (numbers,), optional
            Upper bounds.
        midpoint : array of shape (numbers,), optional
            Finite.
        radius : array of shape (numbers, cuts) or (numbers,), optional
            Radii of the cuts, the widest first; inf for the whole line.

        Returns
        -------
        Array
            Encoded ``"lu"`` from bounds, ``"mr"`` from midpoints and radii.

        Raises
        ------
        InputError
            nan, a lower bound above the upper one, cuts that are not nested, a radius below 0, arrays of different shape
            or type, no numbers; the line says which number. Arrays on another GPU than the calculator's, one on the
            GPU and one in the host's memory.
        UsageError
            Neither bounds nor midpoints and radii; more than 64 cuts.
        """
        given = {name for name, value in (("lower", lower), ("upper", upper), ("midpoint", midpoint), ("radius", radius))
                 if value is not None}
        if given == {"lower", "upper"}:
            first = self._rows(lower, "lower")
            second = self._rows(upper, "upper", first.dtype)
            if first.shape != second.shape:
                raise InputError(f"upper: found an array of shape {second.shape}, expected {first.shape} as of lower")
            encoding = "lu"
        elif given == {"midpoint", "radius"}:
            first = self._reals(midpoint, "midpoint")
            second = self._rows(radius, "radius", first.dtype)
            if first.shape != second.shape[:1]:
                raise InputError(f"midpoint: found an array of shape {first.shape}, expected {second.shape[:1]}: one for "
                                 "each row of radius")
            encoding = "mr"
        else:
            found = ", ".join(sorted(given)) or "nothing"
            raise UsageError(f"array: found {found}, expected lower and upper, or midpoint and radius")
        on_device = [isinstance(array, _heddle.GivenArray) for array in (first, second)]
        if all(on_device):
            return Array(self, self._own.array_from(encoding, first, second))
        if any(on_device):
            names = ("lower", "upper") if encoding == "lu" else ("midpoint", "radius")
            host, gpu = names if on_device[1] else reversed(names)
            raise InputError(f"{host}: lies in the host's memory, expected that of {self.device} as of {gpu}")
        components = (np.stack((first, second), axis=2).reshape(len(first), -1) if encoding == "lu"
                      else np.concatenate((first[:, np.newaxis], second), axis=1))
        flat = np.ascontiguousarray(components).reshape(-1)
        return Array(self, self._own.array(flat, encoding, *second.shape, 8 * flat.itemsize))

    def _reals(self, values, what, dtype=None):
        """As an array of float32 or float64: one of NumPy's, or one that lies on this calculator's GPU."""
        array = self._own.given(values, what) if _is_on_gpu(values, what) else _on_host(values, what)
        if str(array.dtype) not in ("float32", "float64"):
            raise InputError(f"{what}: found an array of {array.dtype}, expected float32 or float64")
        if dtype is not None and str(array.dtype) != str(dtype):
            raise InputError(f"{what}: found an array of {array.dtype}, expected {dtype} as in the other one")
        return array

    def _rows(self, values, what, dtype=None):
        """Numbers x cuts; a vector has one cut."""
        array = self._reals(values, what, dtype)
        if len(array.shape) == 1:
            array = array.column() if isinstance(array, _heddle.GivenArray) else array[:, np.newaxis]
        if len(array.shape) != 2 or 0 in array.shape:
            raise InputError(f"{what}: found an array of shape {array.shape}, expected numbers x cuts, at least one of each")
        return array

    def _host(self, array):
        """As one of NumPy's."""
        if not isinstance(array, _heddle.GivenArray):
            return array
        if 0 in array.shape:
            return np.empty(array.shape, array.dtype)
        return np.frombuffer(self._own.read(array), array.dtype).reshape(array.shape)

    def _numbers(self, value, what):
        if not isinstance(value, Array):
            raise UsageError(f"{what}: found {type(value).__name__}, expected a fuzzy array")
        return value._own

    def evaluate(self, formula, /, **arrays):
        """A formula for each number of arrays of one length and form, compiled into one kernel.

        Parameters
        ----------
        formula : str
            Of the names of `arrays` and decimal numbers, with + - * /, powers as ``x^3``, sqrt, exp, log, min, max.
        **arrays : Array
            What the names stand for.

        Returns
        -------
        Array
            Of the same form. Cuts that have no bounds are the whole line.

        Raises
        ------
        UsageError
            A wrong formula, a name without an array, arrays of different length or form or of another calculator.
        """
        if not isinstance(formula, str):
            raise UsageError(f"evaluate: found {type(formula).__name__}, expected a formula as text")
        return Array(self, self._own.evaluate(formula, {name: self._numbers(value, name)
                                                        for name, value in arrays.items()}))

    def sum(self, x):
        """The sum of all numbers.

        Parameters
        ----------
        x : Array
            What to add up.

        Returns
        -------
        Array
            One number.

        Raises
        ------
        UsageError
            An array of another calculator.
        """
        return Array(self, self._own.sum(self._numbers(x, "x")))

    def dot(self, x, y):
        """The sum of the products of two arrays' numbers.

        Parameters
        ----------
        x : Array
            The one.
        y : Array
            The other, of the same length and form.

        Returns
        -------
        Array
            One number.

        Raises
        ------
        UsageError
            Arrays of different length or form, or of another calculator.
        """
        return Array(self, self._own.dot(self._numbers(x, "x"), self._numbers(y, "y")))

    def matvec(self, matrix, x):
        """A matrix times a vector of fuzzy numbers.

        Parameters
        ----------
        matrix : array of shape (rows, columns), or Array
            Real numbers of the type of `x`, or fuzzy ones, row after row: a multiple of ``len(x)``.
        x : Array
            One number for each column.

        Returns
        -------
        Array
            One number for each row.

        Raises
        ------
        InputError
            A matrix that is not of two dimensions, of another type, or has numbers that are not finite.
        UsageError
            A vector of another length than the rows have, another form, or of another calculator.
        """
        vector = self._numbers(x, "x")
        if isinstance(matrix, Array):
            return Array(self, self._own.fuzzy_product(matrix._own, vector))
        reals = self._reals(matrix, "matrix", x.dtype)
        if len(reals.shape) != 2 or 0 in reals.shape:
            raise InputError(f"matrix: found an array of shape {reals.shape}, expected rows x columns, at least one of each")
        if isinstance(reals, _heddle.GivenArray):
            return Array(self, self._own.product_from(reals, vector))
        flat = np.ascontiguousarray(reals).reshape(-1)
        return Array(self, self._own.product(flat, *reals.shape, vector))

    def sort(self, x, keys="centroid", levels=None):
        """The numbers in rising order of their keys; equal ones keep their order, nan comes last.

        Parameters
        ----------
        x : Array
            What to sort.
        keys : array of shape (numbers,), or str
            In the type of `x`; or the measure of each number (:meth:`Array.measure`).
        levels : array of shape (cuts,), optional
            Of the measure.

        Returns
        -------
        sorted : Array
            The numbers in order.
        positions : ndarray of uint32, of shape (numbers,)
            ``sorted[i]`` was ``x[positions[i]]``.

        Raises
        ------
        InputError
            Keys of another type.
        UsageError
            Not one key for each number, or no such measure.
        """
        own = self._numbers(x, "x")
        values = x.measure(keys, levels) if isinstance(keys, str) else self._reals(keys, "keys", x.dtype)
        if len(values.shape) != 1:
            raise InputError(f"keys: found an array of shape {values.shape}, expected ({len(x)},)")
        if isinstance(values, _heddle.GivenArray):
            ordered, positions = self._own.sort_from(own, values)
        else:
            ordered, positions = self._own.sort(own, np.ascontiguousarray(values))
        return Array(self, ordered), np.frombuffer(positions, np.uint32).copy()

    def explain(self, formula, /, like):
        """Which configuration a formula runs in, and why.

        Parameters
        ----------
        formula : str
            As of `evaluate`.
        like : Array
            Of the length and form of the arrays.

        Returns
        -------
        dict
            ``kernel``, ``device``, ``problem``; ``running`` and ``awaited``, each None or a dict of ``configuration``, ``tier``
            and ``reason``; ``failures``, and all of it as ``text``.

        Raises
        ------
        UsageError
            A wrong formula, or an array of another calculator.
        """
        return self._own.explain(formula, self._numbers(like, "like"))

    def tune(self, formula, /, like, *, budget=30.0, strategy=None, seed=1):
        """Finds the fastest configuration of a formula's kernel and keeps it in the profile database; later calls use it.

        The program ``heddle`` does it, as for `heddle.tune`, which tunes sums, products and sorting: their families are
        ``"fuzzy-sum-lu"``, ``"fuzzy-dot-lu"``, ``"fuzzy-matvec-lu"`` and ``"fuzzy-sort-lu"``, and the same with ``mr``. Call
        `refresh` afterwards.

        Parameters
        ----------
        formula : str
            As of `evaluate`; the names of its arrays do not matter.
        like : Array
            Of the length and form of the arrays; its contents do not matter.
        budget : float
            Seconds.
        strategy : str, optional
            As ``heddle tune --strategy``.
        seed : int
            Of the search and the contents.

        Returns
        -------
        dict
            The profile, as in the document of ``heddle tune --json``.

        Raises
        ------
        UsageError
            A wrong formula, or an array of another calculator.
        DeviceError
            No configuration could be verified, or there is no program.
        """
        from heddle import tuning

        self.explain(formula, like)  # refuses what is no formula
        sizes = {"numbers": len(like), "cuts": like.cuts, "bits": 8 * like.dtype.itemsize, "layout": 1}
        profile = tuning.tune_formula(formula, like.encoding, sizes, budget=budget, device=self.device,
                                      profiles=self._profiles, strategy=strategy, seed=seed)
        self.refresh()
        return profile

    def refresh(self):
        """Chooses configurations anew, from what the profile database has now."""
        self._own.forget_choices()

    def profiles(self):
        """What the database knows of fuzzy arrays, as `heddle.profiles` shows it.

        Returns
        -------
        pandas.DataFrame
            Empty where there is no database yet.
        """
        from heddle import frames

        return frames.of_families(self._profiles, lambda family: family.startswith("fuzzy-"))
