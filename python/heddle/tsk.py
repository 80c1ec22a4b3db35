"""Takagi-Sugeno-Kang system of few readable rules, as estimators."""

from collections.abc import Sequence
from os import PathLike

from numpy.random import RandomState

from heddle._base import Classifier, HasRules, Regressor
from heddle._options import documented, keep


class _Tsk(HasRules):
    _network = "tsk"

    def __init__(
        self,
        *,
        epochs: int = 100,
        sets: int | Sequence[int] | None = None,
        rules: int = 0,
        consequents: str = "constant",
        step_size: float = 0.02,
        rate: float = 0.0,
        ridge: float = 0.0,
        report: int = 0,
        minimum_width: float = 0.01,
        scale: str = "minmax",
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
class TskClassifier(_Tsk, Classifier):
    """Takagi-Sugeno-Kang system of few readable rules: least squares for what rules say, a gradient for
    where they are; classes."""


@documented
class TskRegressor(_Tsk, Regressor):
    """Takagi-Sugeno-Kang system of few readable rules: least squares for what rules say, a gradient for
    where they are; numbers."""
