"""Self-constructing neural fuzzy network (SONFIN) as estimators."""

from heddle._base import HasRules, OnlineClassifier, OnlineRegressor


class SonfinClassifier(HasRules, OnlineClassifier):
    """Self-constructing neural fuzzy network (SONFIN): finds its rules itself, row after row; classes.

    Parameters are those of ``heddle train --network sonfin``, whose model file ``save`` writes.

    Parameters
    ----------
    epochs : int, default=10
        Passes over the training rows, those of a resumed model counted.
    max_rules : int, default=500
        No more rules than this.
    threshold : float, default=0.5
        A row whose strongest rule fires no more than this adds a rule.
    threshold_decay : float, default=1.0
        By how much log(threshold) falls each epoch.
    overlap : float, default=0.6
        Width of a new rule over its distance to the nearest.
    learning_rate : float, default=0.3
        Step size of the consequents.
    antecedent_rate : float, default=0.15
        Step size of centres and widths.
    step : str, default="scaled"
        Antecedent steps times the squared width, or as published; one of scaled, plain.
    width : str, default="distance"
        A new rule's width from the distance to the nearest rule, or from its square; one of distance, squared.
    initial_width : float, default=0.0
        Width of the first rule; 0: from the inputs' variances.
    shuffle : bool, default=True
        A new order of the rows in each epoch.
    minimum_width : float, default=0.001
        No width becomes smaller.
    scale : str, default="minmax"
        Map of the inputs, made from the training rows; unit: all columns divided by the largest size of all;
        one of none, minmax, zscore, unit.
    validation : float, default=0.0
        Fraction of the training rows kept back to find the best epoch.
    patience : int, default=5
        Epochs without a better validation error before training ends.
    target_error : float, default=0.0
        Training ends at this mean error; 0: never.
    random_state : int, RandomState or None, default=1
        Seed of the order of the rows; an int is the seed of ``heddle train``.
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

    _network = "sonfin"

    def __init__(
        self,
        *,
        epochs=10,
        max_rules=500,
        threshold=0.5,
        threshold_decay=1.0,
        overlap=0.6,
        learning_rate=0.3,
        antecedent_rate=0.15,
        step="scaled",
        width="distance",
        initial_width=0.0,
        shuffle=True,
        minimum_width=0.001,
        scale="minmax",
        validation=0.0,
        patience=5,
        target_error=0.0,
        random_state=1,
        device=None,
        profiles=None,
        verbose=False,
    ):
        self.epochs = epochs
        self.max_rules = max_rules
        self.threshold = threshold
        self.threshold_decay = threshold_decay
        self.overlap = overlap
        self.learning_rate = learning_rate
        self.antecedent_rate = antecedent_rate
        self.step = step
        self.width = width
        self.initial_width = initial_width
        self.shuffle = shuffle
        self.minimum_width = minimum_width
        self.scale = scale
        self.validation = validation
        self.patience = patience
        self.target_error = target_error
        self.random_state = random_state
        self.device = device
        self.profiles = profiles
        self.verbose = verbose


class SonfinRegressor(HasRules, OnlineRegressor):
    """Self-constructing neural fuzzy network (SONFIN): finds its rules itself, row after row; numbers.

    Parameters are those of ``heddle train --network sonfin``, whose model file ``save`` writes.

    Parameters
    ----------
    epochs : int, default=10
        Passes over the training rows, those of a resumed model counted.
    max_rules : int, default=500
        No more rules than this.
    threshold : float, default=0.5
        A row whose strongest rule fires no more than this adds a rule.
    threshold_decay : float, default=1.0
        By how much log(threshold) falls each epoch.
    overlap : float, default=0.6
        Width of a new rule over its distance to the nearest.
    learning_rate : float, default=0.3
        Step size of the consequents.
    antecedent_rate : float, default=0.15
        Step size of centres and widths.
    step : str, default="scaled"
        Antecedent steps times the squared width, or as published; one of scaled, plain.
    width : str, default="distance"
        A new rule's width from the distance to the nearest rule, or from its square; one of distance, squared.
    initial_width : float, default=0.0
        Width of the first rule; 0: from the inputs' variances.
    shuffle : bool, default=True
        A new order of the rows in each epoch.
    minimum_width : float, default=0.001
        No width becomes smaller.
    scale : str, default="minmax"
        Map of the inputs, made from the training rows; unit: all columns divided by the largest size of all;
        one of none, minmax, zscore, unit.
    validation : float, default=0.0
        Fraction of the training rows kept back to find the best epoch.
    patience : int, default=5
        Epochs without a better validation error before training ends.
    target_error : float, default=0.0
        Training ends at this mean error; 0: never.
    random_state : int, RandomState or None, default=1
        Seed of the order of the rows; an int is the seed of ``heddle train``.
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

    _network = "sonfin"

    def __init__(
        self,
        *,
        epochs=10,
        max_rules=500,
        threshold=0.5,
        threshold_decay=1.0,
        overlap=0.6,
        learning_rate=0.3,
        antecedent_rate=0.15,
        step="scaled",
        width="distance",
        initial_width=0.0,
        shuffle=True,
        minimum_width=0.001,
        scale="minmax",
        validation=0.0,
        patience=5,
        target_error=0.0,
        random_state=1,
        device=None,
        profiles=None,
        verbose=False,
    ):
        self.epochs = epochs
        self.max_rules = max_rules
        self.threshold = threshold
        self.threshold_decay = threshold_decay
        self.overlap = overlap
        self.learning_rate = learning_rate
        self.antecedent_rate = antecedent_rate
        self.step = step
        self.width = width
        self.initial_width = initial_width
        self.shuffle = shuffle
        self.minimum_width = minimum_width
        self.scale = scale
        self.validation = validation
        self.patience = patience
        self.target_error = target_error
        self.random_state = random_state
        self.device = device
        self.profiles = profiles
        self.verbose = verbose
