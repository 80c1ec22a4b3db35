"""Arrays and frames from outside become what C++ takes; what cannot is an error that names the column and the remedy."""

import numpy as np
import scipy.sparse

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
        Sparse, missing, infinite, or no numbers.
    """
    _refuse_sparse(estimator, X)
    try:
        return _validated(estimator, reset, X)
    except ValueError as error:
        raise _explained(error, X) from None


def checked_rows_and_answers(estimator, X, y, reset, numbers):
    """The same for rows, and y as scikit-learn checks it: numbers (multi-output too) or classes."""
    _refuse_sparse(estimator, X)
    try:
        how = {"multi_output": True, "y_numeric": True} if numbers else {}
        return _validated(estimator, reset, X, y, **how)
    except ValueError as error:
        raise _explained(error, X) from None


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


def _refuse_sparse(estimator, X):
    if scipy.sparse.issparse(X):
        raise InputError(
            f"X: found a sparse matrix ({type(X).__name__}), expected a dense array, as {type(estimator).__name__} has "
            "no kernels for sparse data; X.toarray() makes one"
        )


def _explained(error, X):
    """The error that a user can act on, where the cause is one column."""
    try:
        found = _fault(X)
    except Exception:  # what cannot even be looked at has scikit-learn's own words
        found = None
    line = found or " ".join(str(error).split())
    return InputError(line)


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
            if isinstance(value, (float, np.floating)) and abs(float(value)) > float(np.finfo(np.float32).max):
                return (
                    f"X: found {'infinity (inf)' if np.isinf(value) else value} in {column}, row {row}, expected a "
                    "finite number that float32 can hold; sklearn.preprocessing.FunctionTransformer with "
                    "numpy.clip or a logarithm in a pipeline brings it into range"
                )
    return None
