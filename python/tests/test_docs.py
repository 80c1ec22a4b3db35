"""Docstrings say what every parameter is, what is returned and what is raised, in the form of numpydoc."""

import inspect

import pytest

import heddle


def public():
    for name in heddle.__all__:
        thing = getattr(heddle, name)
        if inspect.isclass(thing) and thing.__module__ != "heddle._heddle":
            yield name, thing
            for own, member in inspect.getmembers(thing, inspect.isroutine):
                if not own.startswith("_") and (inspect.unwrap(member).__module__ or "").startswith("heddle"):
                    yield f"{name}.{own}", member
        elif inspect.isfunction(thing):
            yield name, thing


@pytest.mark.parametrize(("name", "thing"), public())
def test_docstring(name, thing):
    text = inspect.getdoc(thing)
    assert text and text[0].isupper() and text.split("\n")[0].endswith((".", "for", "where"))
    if inspect.isclass(thing) and not name.endswith(("Classifier", "Regressor")):
        return
    sections = text.split("\n----------\n")
    for parameter in inspect.signature(thing).parameters.values():
        if parameter.name != "self":
            stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
            lines = [line.lstrip() for line in sections[1].splitlines()]
            assert any(line.startswith((f"{stars}{parameter.name} :", f"{stars}{parameter.name}")) for line in lines), parameter.name
    if inspect.isroutine(thing):
        assert "Raises\n------" in text
        assert name.endswith("save") or "Returns\n-------" in text


@pytest.mark.parametrize("name", ["load", "save", "from_bytes", "to_bytes", "predict", "arrays", "history", "document"])
def test_docstrings_of_models(name):
    assert len(getattr(heddle.Model, name).__doc__.splitlines()) > 1  # the signature is the first


@pytest.mark.parametrize("estimator", ["SonfinClassifier", "TskRegressor", "MlpClassifier"])
def test_parameters_are_explained_by_the_trainers_table(estimator):
    text = " ".join(getattr(heddle, estimator).__doc__.split())
    for option in heddle._heddle.options(getattr(heddle, estimator)._network):
        meaning = option["meaning"].replace("--", "")
        assert (meaning if option["name"] == "seed" else meaning[1:]) in text
