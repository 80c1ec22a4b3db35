"""Self-constructing neural fuzzy network (SONFIN) as estimators."""

from os import PathLike

from numpy.random import RandomState

from heddle._base import HasRules, OnlineClassifier, OnlineRegressor
from heddle._options import documented, keep


class _Sonfin(HasRules):
    _network = "sonfin"

    def __init__(
        self,
        *,
        epochs: int = 10,
        max_rules: int = 500,
        threshold: float = 0.5,
        threshold_decay: float = 1.0,
        overlap: float = 0.6,
        learning_rate: float = 0.3,
        antecedent_rate: float = 0.15,
        step: str = "scaled",
        width: str = "distance",
        initial_width: float = 0.0,
        shuffle: bool = True,
        minimum_width: float = 0.001,
        scale: str = "minmax",
        validation: float = 0.0,
        patience: int = 5,
        target_error: float = 0.0,
        random_state: int | RandomState | None = 1,
        device: str | None = None,
        profiles: str | PathLike[str] | None = None,
        log: str | PathLike[str] | None = None,
        verbose: bool = False,
    ):
        keep(self, locals())


@documented
class SonfinClassifier(_Sonfin, OnlineClassifier):
    """Self-constructing neural fuzzy network (SONFIN): finds its rules itself, row after row; classes."""


@documented
class SonfinRegressor(_Sonfin, OnlineRegressor):
    """Self-constructing neural fuzzy network (SONFIN): finds its rules itself, row after row; numbers."""
