"""Multilayer perceptrons as estimators."""

from collections.abc import Sequence
from os import PathLike

from numpy.random import RandomState

from heddle._base import OnlineClassifier, OnlineRegressor
from heddle._options import documented, keep


class _Mlp:
    _network = "mlp"

    def __init__(
        self,
        *,
        epochs: int = 100,
        layers: int | Sequence[int] = (64,),
        hidden: str = "relu",
        output: str = "auto",
        target_scale: str = "auto",
        rule: str = "adam",
        batch: int = 64,
        shuffle: bool = True,
        rate: float = 0.0,
        gradient: str = "mean",
        weight_decay: float = 0.0,
        initial_weights: float = 0.0,
        first_step: float = 0.0,
        step_up: float = 0.0,
        step_down: float = 0.0,
        largest_step: float = 0.0,
        smallest_step: float = 1e-06,
        momentum: float = 0.7,
        robust: bool = True,
        error_growth: float = 0.02,
        robust_factor: float = 0.5,
        beta1: float = 0.9,
        beta2: float = 0.999,
        target_rms: float = 0.0,
        report: int = 0,
        scale: str = "zscore",
        validation: float = 0.0,
        patience: int = 20,
        target_error: float = 0.0,
        random_state: int | RandomState | None = 1,
        device: str | None = None,
        profiles: str | PathLike[str] | None = None,
        log: str | PathLike[str] | None = None,
        verbose: bool = False,
    ):
        keep(self, locals())


@documented
class MlpClassifier(_Mlp, OnlineClassifier):
    """Multilayer perceptron: layers of neurons, taught with mini-batches or all rows at once; classes."""


@documented
class MlpRegressor(_Mlp, OnlineRegressor):
    """Multilayer perceptron: layers of neurons, taught with mini-batches or all rows at once; numbers."""
