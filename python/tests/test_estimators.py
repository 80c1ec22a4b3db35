"""The estimators keep scikit-learn's promises, and their parameters are the trainers' options."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import heddle
from heddle import _heddle
from heddle._options import as_option, same_value

ESTIMATORS = [
    heddle.SonfinClassifier,
    heddle.SonfinRegressor,
    heddle.TskClassifier,
    heddle.TskRegressor,
    heddle.MlpClassifier,
    heddle.MlpRegressor,
]


@parametrize_with_checks([estimator(device="cpu") for estimator in ESTIMATORS])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_parameters_are_the_trainers_options(estimator):
    given = estimator().get_params()
    options = {each["name"].replace("-", "_"): each["default"] for each in _heddle.options(estimator._network)}
    options["random_state"] = options.pop("seed")
    others = {"device", "profiles", "log", "verbose"}
    assert set(given) == set(options) | others
    for name, default in options.items():
        value = "" if given[name] is None else as_option(name, given[name])
        assert same_value(value, default), name
