"""Arrays and frames from outside become what C++ takes; what cannot is an error that names the column and the remedy."""

import numbers
from contextlib import contextmanager

import numpy as np
import scipy.sparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from heddle._compat import validate_data
from heddle.errors import InputError


def checked_rows(estimator, X, reset):
    """X as N x D float32, row after row; not copied where it is that already.

    Parameters
    ----------
    estimator : BaseEstimator
        Keeps or checks ``n_features_in_`` and ``feature_names_in_``.
    X : array-like of shape (n_samples, n_features)
    reset : bool
        Whether these are the first rows that the estimator sees.

    Raises
    ------
    InputError
        Sparse, on another device, missing, infinite, or no numbers.
    """
    _refuse_kinds(estimator, "X", X)
    with _explained(X):
        return _validated(estimator, reset, X)


def checked_rows_and_answers(estimator, X, y, reset, numeric):
    """The same for rows, and y as scikit-learn checks it: numbers (multi-output too) or classes, one for each row."""
    _refuse_kinds(estimator, "X", X)
    _refuse_kinds(estimator, "y", y)
    with _explained(X):
        how = {"multi_output": True, "y_numeric": True} if numeric else {}
        X, y = _validated(estimator, reset, X, y, **how)
    try:
        if numeric:
            return X, np.asarray(y, dtype=np.float32 if y.dtype == np.float32 else np.float64)
        check_classification_targets(y)
        y = column_or_1d(y, warn=True)
        np.unique(y)  # classes have an order
        return X, y
    except (TypeError, ValueError) as error:
        kinds = sorted({type(value).__name__ for value in np.ravel(y)[:1000].tolist()})
        what = f"values of several kinds ({', '.join(kinds)})" if len(kinds) > 1 else _line(error)
        raise InputError(f"y: {'found ' if len(kinds) > 1 else ''}{what}, expected "
                         f"{'numbers' if numeric else 'classes that are all numbers or all words'}") from None


def two_parts(eval_set):
    """The X and y of an ``eval_set``."""
    try:
        X, y = eval_set
    except (TypeError, ValueError):
        raise InputError(f"eval_set: found {type(eval_set).__name__}, expected a tuple of X and y") from None
    return X, y


def _validated(estimator, reset, *arrays, **how):
    # Rows that come as float64 have to fit into float32; validation looks at what it returns.
    with np.errstate(over="ignore"):
        return validate_data(estimator, *arrays, reset=reset, dtype=np.float32, order="C", **how)


def _refuse_kinds(estimator, name, array):
    """Raises for arrays that scikit-learn would refuse without a word about the remedy, or take although they miss values."""
    if scipy.sparse.issparse(array):
        raise InputError(
            f"{name}: found a sparse matrix ({type(array).__name__}), expected a dense array, as {type(estimator).__name__} has "
            "no kernels for sparse data; .toarray() makes one"
        )
    if np.ma.is_masked(array):
        raise InputError(f"{name}: found masked values, which are missing, expected a number in each place; "
                         ".filled(numpy.nan) and sklearn.impute.SimpleImputer in a pipeline fill them in")
    if _is_elsewhere(array):
        raise InputError(f"{name}: found an array on another device ({type(array).__name__}), expected one in host memory, "
                         "which its .get(), .cpu() or to_device() makes")


def _is_elsewhere(array):
    """Whether the memory of an array is that of a device: of GPUs there are two protocols."""
    if hasattr(array, "__cuda_array_interface__"):
        return True
    try:
        kind, _ = array.__dlpack_device__()
    except Exception:  # no such protocol, or a library that has it for nothing else than its devices
        return False
    host, pinned = 1, 3  # kDLCPU and kDLCUDAHost of DLPack
    return int(kind) not in (host, pinned)


def _line(error):
    return " ".join(str(error).split())[:500]


class _NoNumbers(InputError, TypeError):
    """What scikit-learn's own estimators answer objects with is a TypeError."""


@contextmanager
def _explained(X):
    """Turns what validation raises into the error that a user can act on: that of one column, if it is one."""
    try:
        yield
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        try:
            found = _fault(X)
        except Exception:  # what cannot even be looked at has scikit-learn's own words
            found = None
        kind = _NoNumbers if isinstance(error, TypeError) else InputError
        raise kind(found or _line(error)) from None


def _columns(X):
    if hasattr(X, "iloc"):
        return [(f"column {str(name)!r}", np.asarray(X.iloc[:, j], dtype=object)) for j, name in enumerate(X.columns)]
    table = np.asarray(X, dtype=object)
    return [(f"column {j}", table[:, j]) for j in range(table.shape[1])] if table.ndim == 2 else []


def _is_missing(value):
    return value is None or type(value).__name__ in ("NAType", "NaTType") or (value != value)


def _fault(X):
    for column, values in _columns(X):
        for row, value in enumerate(values):
            if _is_missing(value):
                return (
                    f"X: found a missing value (NaN) in {column}, row {row}, expected a number; "
                    "sklearn.impute.SimpleImputer in a pipeline fills it in"
                )
            if isinstance(value, (str, bytes)):
                try:
                    float(value)
                except ValueError:
                    return (
                        f"X: could not convert string to float: found {value!r} in {column}, row {row}, expected a "
                        "number; sklearn.preprocessing.OneHotEncoder (or OrdinalEncoder) in a pipeline makes numbers "
                        "of words"
                    )
            if not isinstance(value, (numbers.Number, str, bytes)):
                return (
                    f"X: float() argument must be a string or a real number: found {type(value).__name__} in {column}, row {row}, "
                    "expected a number; sklearn.preprocessing.FunctionTransformer in a pipeline makes numbers of objects"
                )
            if isinstance(value, (float, np.floating)) and abs(float(value)) > float(np.finfo(np.float32).max):
                return (
                    f"X: found {'infinity (inf)' if np.isinf(value) else value} in {column}, row {row}, expected a "
                    "finite number that float32 can hold; sklearn.preprocessing.FunctionTransformer with "
                    "numpy.clip or a logarithm in a pipeline brings it into range"
                )
    return None
