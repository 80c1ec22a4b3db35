"""What all estimators share: parameters as options of heddle's trainers, fitting, predicting, pickling."""

import numbers
import os
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, column_or_1d

from heddle import _heddle
from heddle._arguments import device_label, file_name, text
from heddle._data import checked_rows, checked_rows_and_answers, two_parts
from heddle._options import in_parameters_words, option_values
from heddle._progress import ProgressBar
from heddle.errors import InputError


class Estimator(BaseEstimator):
    """Base of the estimators. ``_network`` is the name of heddle's trainer."""

    _network = ""

    def _seed(self):
        if isinstance(self.random_state, numbers.Integral):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _taught(self, X, answers, classes, test=None, resume=None, epochs=None):
        """Trains, keeps the model in ``_model``, and only then passes on an interruption or a divergence.

        `answers` are numbers of outputs of classes (int32, one axis) or targets (float32, two axes); `test` is None or rows and
        their answers.
        """
        options = option_values(self._network, self.get_params(deep=False), self._seed())
        if epochs is not None:
            options["epochs"] = str(epochs)
            options.pop("validation", None)
            options.pop("patience", None)
        names = [text("feature_names_in_", str(name)) for name in getattr(self, "feature_names_in_", [])]
        test_X, test_answers = test or (None, None)
        with in_parameters_words(), ProgressBar(self.verbose, type(self).__name__) as bar:
            answer = _heddle.train(
                self._network,
                X,
                answers if classes else None,
                classes,
                None if classes else answers,
                names,
                options,
                device_label(self.device),
                file_name("profiles", self.profiles),
                resume,
                file_name("log", self.log),
                test_X,
                test_answers if classes else None,
                None if classes else test_answers,
                bar.epoch if self.verbose else None,
                bar.progress if self.verbose else None,
                bar.notice if self.verbose else None,
            )
        model = answer["model"]
        if not model.unready:
            self._model = model
            self.n_iter_ = model.epochs
            self.device_ = answer["device"]
        if answer["raised"] is not None:
            raise answer["raised"]
        if answer["ending"] == "diverged":
            raise InputError(f"{answer['message']}; the last good model is kept in the estimator")
        if answer["log"]:
            raise InputError(answer["log"])
        return self

    def _outputs(self, X):
        check_is_fitted(self, "_model")
        X = checked_rows(self, X, reset=False)
        return self._model.predict(X, device_label(self.device), file_name("profiles", self.profiles))

    def save(self, file: str | bytes | os.PathLike) -> None:
        """Writes the model file that ``heddle train`` would have written.

        Parameters
        ----------
        file : str or path

        Raises
        ------
        InputError
            The file cannot be written.
        """
        check_is_fitted(self, "_model")
        self._model.save(file)

    @classmethod
    def load(cls, file: str | os.PathLike, **parameters: Any) -> Self:
        """Reads a model file, of ``save`` or of ``heddle train``.

        It predicts, and ``partial_fit`` goes on with the options that it was trained with (``model_.options``). Parameters are
        those of a new estimator, so that ``fit`` begins anew with these.

        Parameters
        ----------
        file : str or path
        **parameters
            Of the estimator, ``device="cpu"``.

        Returns
        -------
        estimator
            Fitted. A model file has classes as words: they become truth values where all are ``True`` and ``False``, whole
            numbers where all are, else numbers where all are (classes that were taught as the words "1" and "2", too), else
            they stay words.

        Raises
        ------
        InputError
            No such file, or damaged, or a model of another network or task.
        """
        model = _heddle.Model.load(file)
        task = "classify" if issubclass(cls, ClassifierMixin) else "regress"
        if (model.kind, model.task) != (cls._network, task):
            raise InputError(f"'{file}': found a {model.kind} to {model.task}, expected a {cls._network} to {task}")
        estimator = cls(**parameters)
        estimator._model = model
        estimator.n_features_in_ = model.dim
        if model.input_names:
            estimator.feature_names_in_ = np.array(model.input_names, dtype=object)
        estimator.n_iter_ = model.epochs
        estimator.device_ = ""
        estimator._keep_answers_of(model)
        return estimator

    @property
    def model_(self):
        """The model itself: ``heddle.Model``."""
        check_is_fitted(self, "_model")
        return self._model

    @property
    def history_(self):
        """One dict an epoch: errors on the training, the validation and the test rows, time per sample."""
        return self.model_.history()

    def __getstate__(self):
        state = dict(super().__getstate__())
        if "_model" in state:
            state["_model"] = state["_model"].to_bytes()
        return state

    def __setstate__(self, state):
        state = dict(state)
        if "_model" in state:
            state["_model"] = _heddle.Model.from_bytes(state["_model"])
        super().__setstate__(state)


class Classifier(ClassifierMixin, Estimator):
    """Adds classes."""

    def fit(self, X: Any, y: Any, eval_set: tuple[Any, Any] | None = None) -> Self:
        """Learns from rows and their classes, from nothing.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            float32, row after row, is not copied.
        y : array-like of shape (n_samples,)
            Classes: numbers or words.
        eval_set : tuple (X, y), optional
            Rows that are not learnt. ``history_`` and a ``log`` have their error and accuracy after each epoch.

        Returns
        -------
        self

        Raises
        ------
        InputError
            Data that cannot be used, with the column; training that diverged.
        UsageError
            Parameters out of range or in contradiction.
        DeviceError
            No such device, or it failed.
        KeyboardInterrupt
            Ctrl-C; the estimator keeps what was learnt.
        """
        X, y = checked_rows_and_answers(self, X, y, reset=True, numeric=False)
        classes, index = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise InputError(f"y: found one class only ({classes.tolist()[0]!r}), expected at least two")
        self._keep_classes(classes)
        return self._taught(X, self._labels(index), self._words, self._test_part(eval_set))

    def _test_part(self, eval_set):
        """Rows and numbers of outputs, or None."""
        if eval_set is None:
            return None
        X, y = checked_rows_and_answers(self, *two_parts(eval_set), reset=False, numeric=False)
        return X, self._labels(self._index(y, "eval_set y"))

    def _index(self, y, what="y"):
        """Where each of `y` is in ``classes_``."""
        index = np.minimum(np.searchsorted(self.classes_, y), len(self.classes_) - 1)
        unknown = self.classes_[index] != y
        if np.any(unknown):
            raise InputError(f"{what}: found the class {y[unknown].tolist()[0]!r}, expected one of {self.classes_.tolist()}")
        return index

    def _keep_answers_of(self, model):
        for read in ({"False": False, "True": True}.__getitem__, int, float):
            try:
                words = [read(word) for word in model.classes]
            except (KeyError, ValueError):
                continue
            if [str(each) for each in words] == model.classes:
                break
        else:
            words = model.classes
        self._keep_classes(np.unique(np.array(words)))

    def _keep_classes(self, classes):
        """``_order``: which of ``classes_`` each output of the network stands for."""
        words = [text("y", str(each)) for each in classes.tolist()]
        if len(set(words)) < len(words):
            raise InputError("y: found two classes with the same text, expected different ones")
        self.classes_ = classes
        self._words = _heddle.ordered_classes(words)
        place = {word: index for index, word in enumerate(words)}
        self._order = np.array([place[word] for word in self._words])

    def _labels(self, index):
        """Indices into ``classes_`` as numbers of outputs."""
        return np.argsort(self._order).astype(np.int32)[np.ravel(index)]

    def predict(self, X: Any) -> np.ndarray:
        """The class whose output is largest.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            Of ``classes_``.

        Raises
        ------
        InputError
            Rows that cannot be used, with the column.
        DeviceError
            No such device, or it failed.
        """
        largest = np.argmax(self._outputs(X), axis=1)
        return self.classes_[self._order[largest]]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Estimated probabilities of the classes.

        A network that ends in a softmax learnt them by cross-entropy; these are its outputs. Other networks learn one
        number for each class, 1 for the right one, by squared errors, whose best answer is the probability of the class.
        Their outputs may leave the range from 0 to 1 a little: the result is then the distribution with the least
        squared distance to them (the projection onto the simplex, Duchi et al. 2008). Not calibrated:
        ``sklearn.calibration.CalibratedClassifierCV`` does that.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Rows sum to 1; columns as ``classes_``.

        Raises
        ------
        InputError
            Rows that cannot be used, with the column.
        DeviceError
            No such device, or it failed.
        """
        outputs = self._outputs(X).astype(np.float64)
        nearest = nearest_distributions(outputs)
        probabilities = np.empty_like(nearest)
        probabilities[:, self._order] = nearest
        return probabilities


def nearest_distributions(outputs):
    """Of each row of an array the nearest point of the simplex: all at least 0, with the sum 1."""
    falling = -np.sort(-outputs, axis=1)
    excess = (np.cumsum(falling, axis=1) - 1) / np.arange(1, outputs.shape[1] + 1)
    kept = np.count_nonzero(falling > excess, axis=1)
    shift = excess[np.arange(len(outputs)), kept - 1]
    nearest = np.maximum(outputs - shift[:, np.newaxis], 0)
    return nearest / nearest.sum(axis=1, keepdims=True)


class Regressor(RegressorMixin, Estimator):
    """Adds numbers to predict, one or several."""

    def fit(self, X: Any, y: Any, eval_set: tuple[Any, Any] | None = None) -> Self:
        """Learns from rows and their numbers, from nothing.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            float32, row after row, is not copied.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        eval_set : tuple (X, y), optional
            Rows that are not learnt. ``history_`` and a ``log`` have their error and RMSE after each epoch.

        Returns
        -------
        self

        Raises
        ------
        InputError
            Data that cannot be used, with the column; training that diverged.
        UsageError
            Parameters out of range or in contradiction.
        DeviceError
            No such device, or it failed.
        KeyboardInterrupt
            Ctrl-C; the estimator keeps what was learnt.
        """
        X, targets = self._rows_and_targets(X, y, reset=True)
        test = None if eval_set is None else self._rows_and_targets(*two_parts(eval_set), reset=False)
        return self._taught(X, targets, [], test)

    def _keep_answers_of(self, model):
        self._flat = model.outputs == 1

    def _rows_and_targets(self, X, y, reset):
        X, y = checked_rows_and_answers(self, X, y, reset=reset, numeric=True)
        if y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        if reset:
            self._flat = y.ndim == 1
        with np.errstate(over="ignore"):
            targets = np.ascontiguousarray(y, dtype=np.float32).reshape(len(X), -1)
        if not np.isfinite(targets).all():
            raise InputError("y: found a number that float32 cannot hold, expected a smaller one")
        return X, targets

    def predict(self, X: Any) -> np.ndarray:
        """Predicted numbers, in the units of the training data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            float64.

        Raises
        ------
        InputError
            Rows that cannot be used, with the column.
        DeviceError
            No such device, or it failed.
        """
        outputs = self._outputs(X).astype(np.float64)
        return outputs[:, 0] if self._flat else outputs

    def _more_tags(self):  # before scikit-learn 1.6 tags were a dictionary
        return {"multioutput": True}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class HasRules:
    """Networks that consist of rules."""

    @property
    def rules_(self):
        """The rules as sentences and arrays: ``heddle.Rules``."""
        from heddle.rules import Rules

        return Rules(self.model_)


class OnlineClassifier(Classifier):
    """Classifiers that can go on learning from further rows."""

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Goes on learning: one pass over these rows. The scaling of the inputs stays that of the first call.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        classes : array-like of shape (n_classes,), optional
            All classes there will ever be; needed in the first call.

        Returns
        -------
        self

        Raises
        ------
        InputError
            As ``fit``, and for a class that was not announced.
        """
        first = not hasattr(self, "_model")
        X, y = checked_rows_and_answers(self, X, y, reset=first, numeric=False)
        if first:
            if classes is None:
                raise InputError("classes: found none, expected all classes in the first call of partial_fit")
            self._keep_classes(np.unique(np.asarray(classes)))
        elif classes is not None and not np.array_equal(np.unique(np.asarray(classes)), self.classes_):
            raise InputError("classes: found others than in the first call of partial_fit, expected the same")
        index = self._index(y)
        if len(self.classes_) < 2:
            raise InputError(f"classes: found one class only ({self.classes_.tolist()[0]!r}), expected at least two")
        model = None if first else self._model
        return self._taught(X, self._labels(index), self._words, None, model, 1 if first else model.epochs + 1)


class OnlineRegressor(Regressor):
    """Regressors that can go on learning from further rows."""

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Goes on learning: one pass over these rows. All scaling stays that of the first call.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)

        Returns
        -------
        self

        Raises
        ------
        InputError
            As ``fit``.
        """
        first = not hasattr(self, "_model")
        X, targets = self._rows_and_targets(X, y, reset=first)
        model = None if first else self._model
        return self._taught(X, targets, [], None, model, 1 if first else model.epochs + 1)
