"""Multilayer perceptrons as estimators."""

from heddle._base import OnlineClassifier, OnlineRegressor


class MlpClassifier(OnlineClassifier):
    """Multilayer perceptron: layers of neurons, taught with mini-batches or all rows at once; classes.

    Parameters are those of ``heddle train --network mlp``, whose model file ``save`` writes.

    Parameters
    ----------
    epochs : int, default=100
        Passes over the training rows, those of a resumed model counted.
    layers : int or sequence of int, default=(64,)
        Neurons of each hidden layer, up to 8 layers.
    hidden : str, default="relu"
        Activation of the hidden layers; one of relu, sigmoid, tanh, linear.
    output : str, default="auto"
        Activation of the outputs; softmax has the cross-entropy as its error, others half the squared error;
        auto: softmax for classes, linear for numbers; one of auto, softmax, sigmoid, linear.
    target_scale : str, default="auto"
        Map of the numbers to be predicted; auto: minmax with output sigmoid, else zscore; one of auto, none,
        minmax, zscore.
    rule : str, default="adam"
        How weights follow from gradients; adaptive: a step for every weight, with momentum (Toman); rprop:
        iRPROP-; one of adam, plain, adaptive, rprop.
    batch : int, default=64
        Rows of one step; 1: online; 0: all, which is the default of all rules but adam.
    shuffle : bool, default=True
        A new order of the rows in each epoch.
    rate : float, default=0.0
        Step size of the rules adam and plain; 0: 0.001 for adam, 0.1 for plain.
    gradient : str, default="mean"
        Of the rule plain: mean or sum over the rows of a step; one of mean, sum.
    weight_decay : float, default=0.0
        Part of every weight that a step takes away, times the rate or the weight's own step.
    initial_weights : float, default=0.0
        Weights and biases begin uniformly from minus this to this; 0: by the number of inputs (Glorot; He for
        relu), biases 0.
    first_step : float, default=0.0
        Of every weight, rules adaptive and rprop; 0: as published, 0.5 or 0.0125.
    step_up : float, default=0.0
        Factor of a step whose gradient keeps its sign; 0: as published, 1.9 or 1.2.
    step_down : float, default=0.0
        Factor of a step whose gradient changes its sign; 0: as published, 0.1 or 0.5.
    largest_step : float, default=0.0
        No step grows beyond it; 0: as published, 10 or 50.
    smallest_step : float, default=1e-06
        No step of the rule rprop shrinks below it.
    momentum : float, default=0.7
        Of the rule adaptive: part of the last velocity that is kept.
    robust : bool, default=True
        Of the rule adaptive: go back to the best weights when the error has grown.
    error_growth : float, default=0.02
        Of robust training: part by which the error may grow.
    robust_factor : float, default=0.5
        Of robust training: of every step after going back.
    beta1 : float, default=0.9
        Of the rule adam: decay of the mean of gradients.
    beta2 : float, default=0.999
        Of the rule adam: decay of the mean of squared gradients.
    target_rms : float, default=0.0
        Training ends when half the root of the mean squared error of the outputs (Toman) falls to this; 0:
        never.
    report : int, default=0
        Epochs between two lines of the report and two looks at the validation rows; 0: a tenth of all, or 1
        with validation.
    scale : str, default="zscore"
        Map of the inputs, made from the training rows; unit: all columns divided by the largest size of all;
        one of none, minmax, zscore, unit.
    validation : float, default=0.0
        Fraction of the training rows kept back to find the best epoch.
    patience : int, default=20
        Epochs without a better validation error before training ends.
    target_error : float, default=0.0
        Training ends at this mean error; 0: never.
    random_state : int, RandomState or None, default=1
        Seed of first weights, the order of the rows and the rows kept back; an int is the seed of ``heddle
        train``.
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
    history_ : list of dict
        One an epoch.
    """

    _network = "mlp"

    def __init__(
        self,
        *,
        epochs=100,
        layers=(64,),
        hidden="relu",
        output="auto",
        target_scale="auto",
        rule="adam",
        batch=64,
        shuffle=True,
        rate=0.0,
        gradient="mean",
        weight_decay=0.0,
        initial_weights=0.0,
        first_step=0.0,
        step_up=0.0,
        step_down=0.0,
        largest_step=0.0,
        smallest_step=1e-06,
        momentum=0.7,
        robust=True,
        error_growth=0.02,
        robust_factor=0.5,
        beta1=0.9,
        beta2=0.999,
        target_rms=0.0,
        report=0,
        scale="zscore",
        validation=0.0,
        patience=20,
        target_error=0.0,
        random_state=1,
        device=None,
        profiles=None,
        verbose=False,
    ):
        self.epochs = epochs
        self.layers = layers
        self.hidden = hidden
        self.output = output
        self.target_scale = target_scale
        self.rule = rule
        self.batch = batch
        self.shuffle = shuffle
        self.rate = rate
        self.gradient = gradient
        self.weight_decay = weight_decay
        self.initial_weights = initial_weights
        self.first_step = first_step
        self.step_up = step_up
        self.step_down = step_down
        self.largest_step = largest_step
        self.smallest_step = smallest_step
        self.momentum = momentum
        self.robust = robust
        self.error_growth = error_growth
        self.robust_factor = robust_factor
        self.beta1 = beta1
        self.beta2 = beta2
        self.target_rms = target_rms
        self.report = report
        self.scale = scale
        self.validation = validation
        self.patience = patience
        self.target_error = target_error
        self.random_state = random_state
        self.device = device
        self.profiles = profiles
        self.verbose = verbose


class MlpRegressor(OnlineRegressor):
    """Multilayer perceptron: layers of neurons, taught with mini-batches or all rows at once; numbers.

    Parameters are those of ``heddle train --network mlp``, whose model file ``save`` writes.

    Parameters
    ----------
    epochs : int, default=100
        Passes over the training rows, those of a resumed model counted.
    layers : int or sequence of int, default=(64,)
        Neurons of each hidden layer, up to 8 layers.
    hidden : str, default="relu"
        Activation of the hidden layers; one of relu, sigmoid, tanh, linear.
    output : str, default="auto"
        Activation of the outputs; softmax has the cross-entropy as its error, others half the squared error;
        auto: softmax for classes, linear for numbers; one of auto, softmax, sigmoid, linear.
    target_scale : str, default="auto"
        Map of the numbers to be predicted; auto: minmax with output sigmoid, else zscore; one of auto, none,
        minmax, zscore.
    rule : str, default="adam"
        How weights follow from gradients; adaptive: a step for every weight, with momentum (Toman); rprop:
        iRPROP-; one of adam, plain, adaptive, rprop.
    batch : int, default=64
        Rows of one step; 1: online; 0: all, which is the default of all rules but adam.
    shuffle : bool, default=True
        A new order of the rows in each epoch.
    rate : float, default=0.0
        Step size of the rules adam and plain; 0: 0.001 for adam, 0.1 for plain.
    gradient : str, default="mean"
        Of the rule plain: mean or sum over the rows of a step; one of mean, sum.
    weight_decay : float, default=0.0
        Part of every weight that a step takes away, times the rate or the weight's own step.
    initial_weights : float, default=0.0
        Weights and biases begin uniformly from minus this to this; 0: by the number of inputs (Glorot; He for
        relu), biases 0.
    first_step : float, default=0.0
        Of every weight, rules adaptive and rprop; 0: as published, 0.5 or 0.0125.
    step_up : float, default=0.0
        Factor of a step whose gradient keeps its sign; 0: as published, 1.9 or 1.2.
    step_down : float, default=0.0
        Factor of a step whose gradient changes its sign; 0: as published, 0.1 or 0.5.
    largest_step : float, default=0.0
        No step grows beyond it; 0: as published, 10 or 50.
    smallest_step : float, default=1e-06
        No step of the rule rprop shrinks below it.
    momentum : float, default=0.7
        Of the rule adaptive: part of the last velocity that is kept.
    robust : bool, default=True
        Of the rule adaptive: go back to the best weights when the error has grown.
    error_growth : float, default=0.02
        Of robust training: part by which the error may grow.
    robust_factor : float, default=0.5
        Of robust training: of every step after going back.
    beta1 : float, default=0.9
        Of the rule adam: decay of the mean of gradients.
    beta2 : float, default=0.999
        Of the rule adam: decay of the mean of squared gradients.
    target_rms : float, default=0.0
        Training ends when half the root of the mean squared error of the outputs (Toman) falls to this; 0:
        never.
    report : int, default=0
        Epochs between two lines of the report and two looks at the validation rows; 0: a tenth of all, or 1
        with validation.
    scale : str, default="zscore"
        Map of the inputs, made from the training rows; unit: all columns divided by the largest size of all;
        one of none, minmax, zscore, unit.
    validation : float, default=0.0
        Fraction of the training rows kept back to find the best epoch.
    patience : int, default=20
        Epochs without a better validation error before training ends.
    target_error : float, default=0.0
        Training ends at this mean error; 0: never.
    random_state : int, RandomState or None, default=1
        Seed of first weights, the order of the rows and the rows kept back; an int is the seed of ``heddle
        train``.
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
    history_ : list of dict
        One an epoch.
    """

    _network = "mlp"

    def __init__(
        self,
        *,
        epochs=100,
        layers=(64,),
        hidden="relu",
        output="auto",
        target_scale="auto",
        rule="adam",
        batch=64,
        shuffle=True,
        rate=0.0,
        gradient="mean",
        weight_decay=0.0,
        initial_weights=0.0,
        first_step=0.0,
        step_up=0.0,
        step_down=0.0,
        largest_step=0.0,
        smallest_step=1e-06,
        momentum=0.7,
        robust=True,
        error_growth=0.02,
        robust_factor=0.5,
        beta1=0.9,
        beta2=0.999,
        target_rms=0.0,
        report=0,
        scale="zscore",
        validation=0.0,
        patience=20,
        target_error=0.0,
        random_state=1,
        device=None,
        profiles=None,
        verbose=False,
    ):
        self.epochs = epochs
        self.layers = layers
        self.hidden = hidden
        self.output = output
        self.target_scale = target_scale
        self.rule = rule
        self.batch = batch
        self.shuffle = shuffle
        self.rate = rate
        self.gradient = gradient
        self.weight_decay = weight_decay
        self.initial_weights = initial_weights
        self.first_step = first_step
        self.step_up = step_up
        self.step_down = step_down
        self.largest_step = largest_step
        self.smallest_step = smallest_step
        self.momentum = momentum
        self.robust = robust
        self.error_growth = error_growth
        self.robust_factor = robust_factor
        self.beta1 = beta1
        self.beta2 = beta2
        self.target_rms = target_rms
        self.report = report
        self.scale = scale
        self.validation = validation
        self.patience = patience
        self.target_error = target_error
        self.random_state = random_state
        self.device = device
        self.profiles = profiles
        self.verbose = verbose
