"""Takagi-Sugeno-Kang system of few readable rules, as estimators."""

from heddle._base import Classifier, HasRules, Regressor


class TskClassifier(HasRules, Classifier):
    """Takagi-Sugeno-Kang system of few readable rules: least squares for what rules say, a gradient for where they
    are; classes.

    Parameters are those of ``heddle train --network tsk``, whose model file ``save`` writes.

    Parameters
    ----------
    epochs : int, default=100
        Iterations over all training rows, those of a resumed model counted.
    sets : int or sequence of int, default=None
        Fuzzy sets of each input, evenly spread, all combinations as rules: 5,7; one number is for every input;
        default: 5 for 1 or 2 inputs, 2 for 3 or 4.
    rules : int, default=0
        Rules at the centres of clusters of rows instead; default: 16 for more than 4 inputs.
    consequents : str, default="constant"
        What a rule says; one of constant, linear.
    step_size : float, default=0.02
        Length of the first step of all centres and widths together, in scaled inputs; later ones adapt.
    rate : float, default=0.0
        Step as the gradient times this instead; 0: of adapted length.
    ridge : float, default=0.0
        Weight of small consequents, times the largest sum of squared activations.
    report : int, default=0
        Epochs between two lines of the report; 0: a tenth of all.
    minimum_width : float, default=0.01
        No width becomes smaller.
    scale : str, default="minmax"
        Map of the inputs, made from the training rows; unit: all columns divided by the largest size of all;
        one of none, minmax, zscore, unit.
    validation : float, default=0.0
        Fraction of the training rows kept back to find the best epoch.
    patience : int, default=20
        Epochs without a better validation error before training ends.
    target_error : float, default=0.0
        Training ends at this mean error; 0: never.
    random_state : int, RandomState or None, default=1
        Seed of the clusters and the rows kept back; an int is the seed of ``heddle train``.
    device : str or None, default=None
        ``"cuda:0"``, ``"cpu"``; None: the best one here. ``heddle.devices()`` lists them.
    profiles : path or None, default=None
        Database of ``heddle tune``; None: the default one.
    verbose : bool, default=False
        Shows a progress bar.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Where X was a frame with names.
    n_iter_ : int
        Epochs done.
    device_ : str
        Where it was taught.
    rules_ : Rules
        Sentences and arrays, in the units of the data.
    history_ : list of dict
        One an epoch.
    """

    _network = "tsk"

    def __init__(
        self,
        *,
        epochs=100,
        sets=None,
        rules=0,
        consequents="constant",
        step_size=0.02,
        rate=0.0,
        ridge=0.0,
        report=0,
        minimum_width=0.01,
        scale="minmax",
        validation=0.0,
        patience=20,
        target_error=0.0,
        random_state=1,
        device=None,
        profiles=None,
        verbose=False,
    ):
        self.epochs = epochs
        self.sets = sets
        self.rules = rules
        self.consequents = consequents
        self.step_size = step_size
        self.rate = rate
        self.ridge = ridge
        self.report = report
        self.minimum_width = minimum_width
        self.scale = scale
        self.validation = validation
        self.patience = patience
        self.target_error = target_error
        self.random_state = random_state
        self.device = device
        self.profiles = profiles
        self.verbose = verbose


class TskRegressor(HasRules, Regressor):
    """Takagi-Sugeno-Kang system of few readable rules: least squares for what rules say, a gradient for where they
    are; numbers.

    Parameters are those of ``heddle train --network tsk``, whose model file ``save`` writes.

    Parameters
    ----------
    epochs : int, default=100
        Iterations over all training rows, those of a resumed model counted.
    sets : int or sequence of int, default=None
        Fuzzy sets of each input, evenly spread, all combinations as rules: 5,7; one number is for every input;
        default: 5 for 1 or 2 inputs, 2 for 3 or 4.
    rules : int, default=0
        Rules at the centres of clusters of rows instead; default: 16 for more than 4 inputs.
    consequents : str, default="constant"
        What a rule says; one of constant, linear.
    step_size : float, default=0.02
        Length of the first step of all centres and widths together, in scaled inputs; later ones adapt.
    rate : float, default=0.0
        Step as the gradient times this instead; 0: of adapted length.
    ridge : float, default=0.0
        Weight of small consequents, times the largest sum of squared activations.
    report : int, default=0
        Epochs between two lines of the report; 0: a tenth of all.
    minimum_width : float, default=0.01
        No width becomes smaller.
    scale : str, default="minmax"
        Map of the inputs, made from the training rows; unit: all columns divided by the largest size of all;
        one of none, minmax, zscore, unit.
    validation : float, default=0.0
        Fraction of the training rows kept back to find the best epoch.
    patience : int, default=20
        Epochs without a better validation error before training ends.
    target_error : float, default=0.0
        Training ends at this mean error; 0: never.
    random_state : int, RandomState or None, default=1
        Seed of the clusters and the rows kept back; an int is the seed of ``heddle train``.
    device : str or None, default=None
        ``"cuda:0"``, ``"cpu"``; None: the best one here. ``heddle.devices()`` lists them.
    profiles : path or None, default=None
        Database of ``heddle tune``; None: the default one.
    verbose : bool, default=False
        Shows a progress bar.

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Where X was a frame with names.
    n_iter_ : int
        Epochs done.
    device_ : str
        Where it was taught.
    rules_ : Rules
        Sentences and arrays, in the units of the data.
    history_ : list of dict
        One an epoch.
    """

    _network = "tsk"

    def __init__(
        self,
        *,
        epochs=100,
        sets=None,
        rules=0,
        consequents="constant",
        step_size=0.02,
        rate=0.0,
        ridge=0.0,
        report=0,
        minimum_width=0.01,
        scale="minmax",
        validation=0.0,
        patience=20,
        target_error=0.0,
        random_state=1,
        device=None,
        profiles=None,
        verbose=False,
    ):
        self.epochs = epochs
        self.sets = sets
        self.rules = rules
        self.consequents = consequents
        self.step_size = step_size
        self.rate = rate
        self.ridge = ridge
        self.report = report
        self.minimum_width = minimum_width
        self.scale = scale
        self.validation = validation
        self.patience = patience
        self.target_error = target_error
        self.random_state = random_state
        self.device = device
        self.profiles = profiles
        self.verbose = verbose
