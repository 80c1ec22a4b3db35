"""Bindings of heddle's C++ libraries"""

from collections.abc import Mapping, Sequence
from typing import Annotated

import numpy
from numpy.typing import NDArray


version: str = '0.1.0'

def devices() -> list: ...

class Model:
    """
    A trained model: what a model file has. It keeps a device open between predictions.
    """

    @staticmethod
    def load(file: str) -> Model:
        """
        Reads a model file. Raises InputError where there is none, or it is damaged.
        """

    def save(self, file: str) -> None:
        """Writes a model file. Raises InputError where it cannot be written."""

    @staticmethod
    def from_bytes(data: bytes) -> Model:
        """
        A model of the bytes of a model file. Raises InputError where they are damaged.
        """

    def to_bytes(self) -> bytes:
        """The bytes of a model file."""

    def predict(self, rows: object, device: str = '', profiles: str = '', source: str = 'X') -> NDArray[numpy.float32]:
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
            Rows of another form, or that the network cannot take.
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
    def kind(self) -> str: ...

    @property
    def task(self) -> str: ...

    @property
    def dim(self) -> int: ...

    @property
    def outputs(self) -> int: ...

    @property
    def size(self) -> str: ...

    @property
    def unready(self) -> str: ...

    @property
    def classes(self) -> list[str]: ...

    @property
    def input_names(self) -> list[str]: ...

    @property
    def target_names(self) -> list[str]: ...

    @property
    def epochs(self) -> int: ...

    @property
    def best_epoch(self) -> int: ...

    @property
    def options(self) -> dict[str, str]: ...

    @property
    def provenance(self) -> dict[str, str]: ...

def ordered_classes(words: Sequence[str]) -> list[str]: ...

def train(network: str, rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, classes: Sequence[str], targets: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, input_names: Sequence[str], options: Mapping[str, str], device: str, profiles: str, resume: Model | None, log: str, test_rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, test_labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, test_targets: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, on_epoch: object | None, on_progress: object | None, on_notice: object | None) -> dict: ...

def options(network: str) -> list: ...
