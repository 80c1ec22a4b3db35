"""Docstrings say what every parameter is, what is returned and what is raised, in the form of numpydoc."""

import inspect
import re

import pytest

import heddle
from heddle import fuzzy


ESTIMATORS = [f"{network}{kind}" for network in ("Sonfin", "Tsk", "Mlp") for kind in ("Classifier", "Regressor")]
FUNCTIONS = ["measurements", "profiles", "regret", "report", "tune"]


def public():
    """Names and what they stand for: estimators with their methods, and functions."""
    for name in ESTIMATORS:
        estimator = getattr(heddle, name)
        yield name, estimator
        for own in ("fit", "partial_fit", "predict", "predict_proba", "save", "load"):
            if hasattr(estimator, own):
                yield f"{name}.{own}", getattr(estimator, own)
    for name in FUNCTIONS:
        yield name, getattr(heddle, name)
    yield "Kernel", heddle.Kernel
    for own in ("capture", "explain", "notices", "prepare", "profiles", "tune"):
        yield f"Kernel.{own}", getattr(heddle.Kernel, own)
    yield "fuzzy.Calculator", fuzzy.Calculator
    for own in ("array", "evaluate", "sum", "dot", "matvec", "sort", "explain", "tune"):
        yield f"fuzzy.Calculator.{own}", getattr(fuzzy.Calculator, own)
    for own in ("measure", "view"):
        yield f"fuzzy.Array.{own}", getattr(fuzzy.Array, own)


def words(text):
    return " ".join(text.split())


@pytest.mark.parametrize(("name", "thing"), list(public()))
def test_docstring(name, thing):
    text = inspect.getdoc(thing)
    parameters = [each for each in inspect.signature(thing).parameters.values() if each.name != "self"]
    explained = {line.split(" : ")[0] for line in text.splitlines()}
    for each in parameters:
        stars = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "")
        assert stars + each.name in explained
    assert ("Parameters\n----------" in text) == bool(parameters)
    if not inspect.isclass(thing):
        assert name == "Kernel.notices" or "Raises\n------" in text
        assert name.endswith(("save", "capture", "prepare")) or "Returns\n-------" in text


@pytest.mark.parametrize("name", ["load", "save", "from_bytes", "to_bytes", "predict", "arrays", "history", "document"])
def test_docstrings_of_models(name):
    assert len(getattr(heddle.Model, name).__doc__.splitlines()) > 1  # the signature is the first


@pytest.mark.parametrize("thing", [heddle.Model, heddle.Kernel])
def test_docstrings_of_properties(thing):
    found = {name: each.__doc__ for name in dir(thing) if isinstance(each := getattr(thing, name), property) or name[0] != "_" and not callable(each)}
    assert {"size", "sizes"} & set(found)
    for name, text in found.items():
        if name[0] != "_":
            assert re.match(r"(str|int|list of str|dict of str): .*\.$", text or ""), name


def test_docstring_of_devices():
    text = heddle.devices.__doc__
    assert "Returns\n-------" in text and "Raises\n------" in text
    (first, *_) = heddle.devices()
    assert all(f"``{name}``" in text for name in first)


@pytest.mark.parametrize("estimator", ["SonfinClassifier", "TskRegressor", "MlpClassifier"])
def test_parameters_are_explained_by_the_trainers_table(estimator):
    text = words(getattr(heddle, estimator).__doc__)
    for option in heddle._heddle.options(getattr(heddle, estimator)._network):
        meaning = option["meaning"].replace("--", "")
        assert (meaning if option["name"] == "seed" else meaning[1:]) in text
