"""The options of heddle's trainers as parameters of estimators: their values, and what is said about them.

The trainers have one table of options (``heddle train --help`` prints it), with kind, default, meaning and range of each. Values
are checked by it, and the docstrings are made from it. Only names and defaults are written again, as signatures of
``__init__``, which scikit-learn, editors and type checkers read; a test compares them with the table.
"""

import inspect
import numbers
import re
import textwrap
from contextlib import contextmanager

import numpy as np

from heddle import _heddle
from heddle._arguments import text
from heddle.errors import UsageError

_KINDS = {"integer": "int", "number": "float", "choice": "str", "flag": "bool", "integers": "int or sequence of int"}

#: Parameters of every estimator: type and meaning. `random_state` is the option `seed`.
_COMMON = {
    "random_state": ("int, RandomState or None", "Seed {meaning}; an int is the seed of ``heddle train``."),
    "device": ("str or None", '``"cuda:0"``, ``"cpu"``; None: the best one here. ``heddle.devices()`` lists them.'),
    "profiles": ("path or None", "Database of ``heddle tune``; None: the default one."),
    "log": ("path or None", "A file to which each training appends what ``heddle train --log`` writes; ``heddle.report`` draws it."),
    "verbose": ("bool", "Shows a progress bar."),
}

_ATTRIBUTES = [
    ("classes_ : ndarray of shape (n_classes,)", "Sorted.", lambda cls: hasattr(cls, "predict_proba")),
    ("n_features_in_ : int", "", None),
    ("feature_names_in_ : ndarray of shape (n_features_in_,)", "Where X was a frame with names.", None),
    ("n_iter_ : int", "Epochs done.", None),
    ("device_ : str", "Where it was taught.", None),
    ("rules_ : Rules", "Sentences and arrays, in the units of the data.", lambda cls: hasattr(cls, "rules_")),
    ("history_ : list of dict", "One an epoch.", None),
    ("model_ : Model", "What a model file has.", None),
]


def keep(estimator, given):
    """Sets the parameters of ``__init__``, whose ``locals()`` are `given`, as attributes of the same names."""
    for name, value in given.items():
        if name != "self":
            setattr(estimator, name, value)


def option_values(network, given, seed):
    """The options that differ from their defaults, by name; the trainer's own defaults hold for the others.

    Parameters
    ----------
    network : str
        Name of the trainer.
    given : dict
        Parameters of an estimator.
    seed : int
        For the option ``seed``.
    """
    options = {}
    for option in _heddle.options(network):
        name = option["name"].replace("-", "_")
        if name == "seed":
            options["seed"] = str(seed)
        elif given[name] is not None:
            value = as_option(name, given[name])
            if not same_value(value, option["default"]):
                options[option["name"]] = value
    return options


def as_option(name, value):
    """A parameter's value as the command line writes it."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        return repr(float(value))
    if isinstance(value, str):
        return text(name, value)
    if isinstance(value, (list, tuple, np.ndarray)):
        return ",".join(as_option(name, each) for each in value)
    raise UsageError(f"{name}: found {value!r}, expected a number, a word or a sequence of whole numbers")


@contextmanager
def in_parameters_words():
    """Names in errors about options become those of the parameters: ``--learning-rate`` is ``learning_rate``."""
    try:
        yield
    except UsageError as error:
        def parameter(match):
            name = match[1].replace("-", "_")
            return "random_state" if name == "seed" else name

        raise UsageError(re.sub(r"--([a-z][a-z0-9-]*)", parameter, str(error))) from None


def same_value(a, b):
    """Whether two texts of an option mean the same."""
    try:
        return float(a) == float(b)
    except ValueError:
        return a == b


def documented(cls):
    """Adds parameters and attributes to the docstring of an estimator, in the form of numpydoc."""
    meanings = {option["name"].replace("-", "_"): option for option in _heddle.options(cls._network)}
    lines = [inspect.cleandoc(cls.__doc__), "", f"Parameters are those of ``heddle train --network {cls._network}``, whose model file",
             "``save`` writes.", "", "Parameters", "----------"]
    for name, parameter in inspect.signature(cls).parameters.items():
        if name in _COMMON:
            kind, meaning = _COMMON[name]
            meaning = meaning.format(meaning=meanings["seed"]["meaning"])
        else:
            option = meanings[name]
            kind, meaning = _KINDS[option["kind"]], option["meaning"].replace("--", "")
            meaning = meaning[0].upper() + meaning[1:]
            if option["kind"] != "flag":
                meaning += f"; {option['expected']}"
            meaning += "."
        lines += [f"{name} : {kind}, default={parameter.default!r}", *_wrapped(meaning)]
    lines += ["", "Attributes", "----------"]
    for title, meaning, wanted in _ATTRIBUTES:
        if wanted is None or wanted(cls):
            lines += [title, *_wrapped(meaning)]
    cls.__doc__ = "\n".join(lines) + "\n"
    return cls


def _wrapped(text):
    return textwrap.wrap(text, 96, initial_indent="    ", subsequent_indent="    ")
