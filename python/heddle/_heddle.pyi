"""Bindings of heddle's C++ libraries"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypedDict

import os

import numpy
from numpy.typing import NDArray


version: str = '0.1.0'

class DeviceListing(TypedDict):
    label: str
    usable: bool
    name: str
    remark: str

def devices() -> list[DeviceListing]:
    """
    All devices that heddle knows how to look for, the best usable one first.

    Returns
    -------
    list of dict
        ``label`` (``"cuda:0"``, ``"cpu"``, ``"emulator"``), ``usable`` (bool), ``name`` (of the model; empty where it cannot be used) and ``remark`` (why it cannot be used, or what limits it).

    Raises
    ------
    DeviceError
        A driver is there, and fails.
    """

class Model:
    """
    A trained model: what a model file has. It keeps a device open between predictions.
    """

    @staticmethod
    def load(file: str | bytes | os.PathLike) -> Model:
        """
        Reads a model file.

        Parameters
        ----------
        file : path
            Of ``save``, of an estimator, or of ``heddle train``.

        Returns
        -------
        Model

        Raises
        ------
        InputError
            There is no such file, or it is damaged.
        """

    def save(self, file: str | bytes | os.PathLike) -> None:
        """
        Writes a model file.

        Parameters
        ----------
        file : path
            Is written whole, or not at all.

        Raises
        ------
        InputError
            It cannot be written.
        """

    @staticmethod
    def from_bytes(data: bytes) -> Model:
        """
        A model of the bytes of a model file. Raises InputError where they are damaged.
        """

    def to_bytes(self) -> bytes:
        """The bytes of a model file."""

    def predict(self, rows: NDArray[numpy.float32], device: str = '', profiles: str | os.PathLike = '', source: str = 'X') -> NDArray[numpy.float32]:
        """
        Outputs of the network.

        Parameters
        ----------
        rows : ndarray of shape (n_samples, n_features)
            float32 in host memory; not copied if it lies row after row.
        device : str
            ``"cuda:0"``, ``"cpu"``; empty: the best one here.
        profiles : str
            Database of ``heddle tune``; empty: the default one.
        source : str
            What the rows are called in messages.

        Returns
        -------
        ndarray of shape (n_samples, n_outputs)
            float32: of classes as the network gives them, in the order of ``classes``; of numbers in the units of the data.

        Raises
        ------
        InputError
            Rows of another form, with another number of features than in training, or with numbers that are not finite.
        UsageError
            Words of another type.
        DeviceError
            No such device, or it failed.
        """

    def arrays(self) -> dict:
        """
        The network's numbers by name, float32. Rules: centres and widths (n_rules, n_features) in scaled inputs, consequents (n_rules, n_terms, n_outputs). Perceptrons: parameters, of one axis.
        """

    def history(self) -> list:
        """
        One dict an epoch: epoch, train_error (mean E of a row), validation_error and test_error with validation_value and test_value (accuracy, 0 to 1, or RMSE in the units of the data), which are None where there are no such rows, and microseconds_per_sample (learning alone).
        """

    def input_scaling(self) -> dict:
        """
        How inputs are scaled, (value - offset) * factor of each: a dict with kind, offset and factor.
        """

    def document(self) -> str:
        """What ``heddle inspect --json`` says of the network, as JSON."""

    def sentences(self) -> list[str]:
        """The rules in words, one for each."""

    @property
    def kind(self) -> str:
        """str: the network: ``"sonfin"``, ``"tsk"`` or ``"mlp"``."""

    @property
    def task(self) -> str:
        """str: ``"classify"`` or ``"regress"``."""

    @property
    def dim(self) -> int:
        """int: inputs, as many as features."""

    @property
    def outputs(self) -> int:
        """int: outputs: one for each class, or for each column of targets."""

    @property
    def size(self) -> str:
        """str: what the network has, in words: its rules or layers."""

    @property
    def unready(self) -> str:
        """str: why it cannot predict yet; empty where it can."""

    @property
    def classes(self) -> list[str]:
        """list of str: the classes as words, in the order of the outputs; empty for regression."""

    @property
    def input_names(self) -> list[str]:
        """list of str: names of the features; empty where the data had none."""

    @property
    def target_names(self) -> list[str]:
        """list of str: names of the targets; empty where the data had none."""

    @property
    def epochs(self) -> int:
        """int: epochs of training so far."""

    @property
    def best_epoch(self) -> int:
        """int: the epoch with the least validation error; 0 without validation."""

    @property
    def options(self) -> dict[str, str]:
        """dict of str: options of ``heddle train`` that it was trained with, by their names."""

    @property
    def provenance(self) -> dict[str, str]:
        """dict of str: for people: what made it, from which data, when and on which device."""

def ordered_classes(words: Sequence[str]) -> list[str]: ...

def train(network: str, rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, classes: Sequence[str], targets: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, input_names: Sequence[str], options: Mapping[str, str], device: str, profiles: str, resume: Model | None, log: str, test_rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, test_labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, test_targets: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, on_epoch: object | None, on_progress: object | None, on_notice: object | None) -> dict: ...

def options(network: str) -> list: ...

def describe_array(array: object, prefers_gpu: bool = True) -> dict: ...

def describe_shape(array: object, prefers_gpu: bool = True) -> list: ...

class Kernel:
    def __init__(self, description: str, device: str = '', profiles: str = '', wait: bool = False, allow_outside: bool = False, objective: str = 'time') -> None: ...

    def __call__(self, *arguments, **sizes) -> None: ...

    def _prepare(self, **sizes) -> None: ...

    def _explain(self, **sizes) -> Any: ...

    def _capture(self, file: str, *arguments, **sizes) -> None: ...

    def _tune(self, problems: Sequence[Mapping[str, int]], seconds: float, strategy: str, seed: int, worker: Sequence[str], on_progress: object | None) -> list: ...

    def _notices(self) -> list[str]: ...

    @property
    def _profiles(self) -> str: ...

    @property
    def name(self) -> str:
        """str: of the kernel, with a digest of its description and sources."""

    @property
    def device(self) -> str:
        """str: the label of the device, ``"cuda:0"``."""

    @property
    def arguments(self) -> list[str]:
        """list of str: what a call takes, in its order."""

    @property
    def sizes(self) -> list[str]:
        """list of str: the sizes by name, as the description calls them."""

class FuzzyArray:
    @property
    def size(self) -> int: ...

    @property
    def cuts(self) -> int: ...

    @property
    def bits(self) -> int: ...

    @property
    def encoding(self) -> str: ...

    def view(self, part: str) -> FuzzyView: ...

    def components(self) -> bytes: ...

    def measure(self, by: str, levels: NDArray) -> bytes: ...

class FuzzyView:
    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def bits(self) -> int: ...

    @property
    def device(self) -> tuple[int, int]: ...

    def interface(self) -> dict: ...

    def capsule(self) -> object: ...

class GivenArray:
    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> str: ...

    def column(self) -> GivenArray: ...

class FuzzyCalculator:
    def __init__(self, device: str = '', profiles: str = '') -> None: ...

    @property
    def device(self) -> str: ...

    def array(self, components: NDArray, encoding: str, numbers: int, cuts: int, bits: int) -> FuzzyArray: ...

    def given(self, array: object, what: str) -> GivenArray: ...

    def array_from(self, encoding: str, first: GivenArray, second: GivenArray) -> FuzzyArray: ...

    def read(self, given: GivenArray) -> bytes: ...

    def evaluate(self, formula: str, inputs: Mapping[str, FuzzyArray]) -> FuzzyArray: ...

    def sum(self, x: FuzzyArray) -> FuzzyArray: ...

    def dot(self, x: FuzzyArray, y: FuzzyArray) -> FuzzyArray: ...

    def product(self, matrix: NDArray, rows: int, columns: int, x: FuzzyArray) -> FuzzyArray: ...

    def product_from(self, matrix: GivenArray, x: FuzzyArray) -> FuzzyArray: ...

    def fuzzy_product(self, matrix: FuzzyArray, x: FuzzyArray) -> FuzzyArray: ...

    def sort(self, x: FuzzyArray, keys: NDArray) -> tuple[FuzzyArray, bytes]: ...

    def sort_from(self, x: FuzzyArray, keys: GivenArray) -> tuple[FuzzyArray, bytes]: ...

    def explain(self, formula: str, like: FuzzyArray) -> dict: ...

    def forget_choices(self) -> None: ...

class KernelBench:
    def __init__(self, description: str, device: str, worker: Sequence[str], sizes: Mapping[str, int], numbers: dict, contents: dict, profiles: str) -> None: ...

    def device(self) -> dict: ...

    def violated(self, configuration: Sequence[tuple[str, bool | int | float | str]]) -> str | None: ...

    def launch(self, configuration: Sequence[tuple[str, bool | int | float | str]]) -> list[int]: ...

    def compile(self, configurations: Sequence[Sequence[tuple[str, bool | int | float | str]]]) -> None: ...

    def compiled(self) -> object: ...

    def wind_up(self) -> None: ...

    def samples(self, configuration: Sequence[tuple[str, bool | int | float | str]]) -> int: ...

    def time(self, configuration: Sequence[tuple[str, bool | int | float | str]], samples: int, repetitions: int) -> dict: ...

    def outcome(self, configuration: Sequence[tuple[str, bool | int | float | str]], names: Sequence[str] = []) -> dict: ...

    def agrees(self, configuration: Sequence[tuple[str, bool | int | float | str]], first: Sequence[tuple[str, bool | int | float | str]]) -> dict: ...

    def verify(self, configuration: Sequence[tuple[str, bool | int | float | str]], samples: int) -> dict: ...

    def record(self, rows: list, samples: int, strategy: str) -> None: ...

    def keep(self, configuration: Sequence[tuple[str, bool | int | float | str]], times: Sequence[float], samples: int, strategy: str) -> bool: ...

    @property
    def kernel(self) -> str: ...

    @property
    def problem(self) -> str: ...

class ListedSearch:
    def __init__(self, strategy: str, configurations: Sequence[Sequence[tuple[str, bool | int | float | str]]], seed: int) -> None: ...

    def next(self, at_most: int) -> list[int]: ...

    def observe(self, configuration: int, cost: float | None) -> None: ...

def serve_tuner(compiler: Sequence[str]) -> int: ...
