"""`tune_kernel` and `run_kernel`."""

from __future__ import annotations

import warnings
from time import perf_counter

import numpy as np

from heddle._arguments import whole
from heddle.errors import InputError, UsageError
from heddle.kernel_tuner import strategies
from heddle.kernel_tuner.cache import Cache
from heddle.kernel_tuner.observers import prepared
from heddle.kernel_tuner.runner import Bench, Budget, DeviceRunner, SimulationRunner, device_label
from heddle.kernel_tuner.source import KernelSource
from heddle.kernel_tuner.space import Space
from heddle.kernel_tuner.util import (
    default_block_size_names,
    get_best_config,
    get_config_string,
    get_objective_defaults,
    get_pareto_results,
)

_MOST_THREADS = 1024  # of a block, on every GPU so far
_FORBIDDEN = {"grid_size_x", "grid_size_y", "grid_size_z", "time"}
_OPTIONS = {"max_fevals", "time_limit", "x0", "searchspace_construction_options", "fraction"}


def _check_names(tune_params, block_size_names) -> list:
    """The names of a block's dimensions."""
    for name in tune_params:
        if name in _FORBIDDEN:
            raise ValueError(f"tune_params: the name {name!r} has a meaning of its own, expected another")
        if not str(name).isidentifier():
            raise ValueError(f"tune_params: found the name {name!r}, expected letters, digits and '_'")
    if block_size_names is not None:
        sound = isinstance(block_size_names, list) and len(block_size_names) <= 3
        if not sound or not all(isinstance(name, str) for name in block_size_names):
            raise ValueError(f"block_size_names: found {block_size_names!r}, expected a list of up to three names")
        for name in block_size_names:
            if name not in tune_params:
                warnings.warn(f"block_size_names: {name} is no tunable parameter", UserWarning, stacklevel=3)
        return block_size_names + default_block_size_names[len(block_size_names) :]
    named = sorted((name for name in tune_params if name.lower() in default_block_size_names), key=str.casefold)
    if not named:
        warnings.warn("no tunable parameter is a dimension of a block (block_size_x)", UserWarning, stacklevel=3)
    # Other spellings, as BLOCK_SIZE_X, each in the place of its dimension.
    return [next((name for name in named if name.lower() == usual), usual) for usual in default_block_size_names]


def tune_kernel(
    kernel_name,
    kernel_source,
    problem_size,
    arguments,
    tune_params,
    grid_div_x=None,
    grid_div_y=None,
    grid_div_z=None,
    restrictions=None,
    answer=None,
    atol=1e-6,
    verify=None,
    verbose=False,
    lang=None,
    device=0,
    platform=0,
    smem_args=None,
    cmem_args=None,
    texmem_args=None,
    compiler=None,
    compiler_options=None,
    defines=None,
    log=None,
    iterations=7,
    block_size_names=None,
    quiet=False,
    strategy=None,
    strategy_options=None,
    cache=None,
    metrics=None,
    simulation_mode=None,
    parallel=None,
    observers=None,
    objective=None,
    objective_higher_is_better=None,
    objectives=None,
    seed=None,
):
    """Measures configurations of a CUDA kernel, with the arguments of Kernel Tuner 1.5.0.

    Parameters
    ----------
    kernel_name : str
        Of the function, or a template with its arguments.
    kernel_source : str, Path, callable or list of these
        CUDA C++: a text, a file, or a function of the parameters that returns the text; in a list, the files that the
        first one includes follow.
    problem_size : int, str, tuple of these, or callable
        What the grid is computed from: numbers, expressions over the parameters, or a function of them.
    arguments : list
        Arrays of NumPy, CuPy or PyTorch, which are copied, and numbers of NumPy.
    tune_params : dict of list
        The values of each parameter. Parameters are macros of the source.
    grid_div_x, grid_div_y, grid_div_z : list, int, str or callable, optional
        What the sizes are divided by; by default the dimensions of the block.
    restrictions : str, callable or list of these, optional
        Expressions over the parameters, or functions of a dict of them, that have to be true.
    answer : list, optional
        For each argument the contents that are expected after a launch, or None. A configuration with other results
        ends with ``RuntimeFailedConfig``, and the run goes on.
    atol : float
        How far they may be off, as of `numpy.allclose`.
    verify : callable, optional
        ``verify(answer, results, atol=...)`` in place of `numpy.allclose`.
    smem_args : dict, optional
        ``{"size": bytes}`` of dynamic shared memory: a number, an expression, a function of the parameters.
    cmem_args : dict, optional
        Contents of ``__constant__`` variables by their names.
    compiler_options : list of str, optional
        For NVRTC. What names an architecture or a level of optimisation is left out.
    defines : dict, optional
        Macros in place of the parameters: texts in which parameters are replaced, or functions of the parameters.
    iterations : int
        Times of each configuration. Each is the mean of as many launches as last about 1.5 ms.
    block_size_names : list of str, optional
        In place of ``block_size_x``, ``block_size_y``, ``block_size_z``.
    strategy : str, optional
        Names of Kernel Tuner's; beside ``"brute_force"`` (the default) and ``"random_sample"`` each stands for the nearest
        strategy of heddle's (`heddle.kernel_tuner.strategies.NAMES`).
    strategy_options : dict, optional
        ``max_fevals``, ``time_limit`` (seconds; of ``"brute_force"`` too), ``fraction``; others are not used.
    cache : path, optional
        A file in Kernel Tuner's format that results are read from and added to.
    metrics : dict, optional
        What is derived from results: expressions or functions by name.
    simulation_mode : bool, optional
        Whether all results come from `cache`.
    observers : list, optional
        Objects of `heddle.kernel_tuner.observers`, such as ``NVMLObserver`` for energy.
    objective, objective_higher_is_better, objectives
        What is best; by default the least ``"time"``.
    seed : int, optional
        Of the strategy.
    lang, device, platform, compiler, log, parallel, verbose, quiet
        `device` is the GPU's number (see the package for others); kernels are always compiled side by side; what is no
        CUDA is refused.

    Returns
    -------
    results : list of dict
        The parameters, ``time`` (milliseconds) and ``times``, metrics, what took how long; or ``__error__``.
    env : dict
        The device, the best configuration as ``best_config``, and what took how long in all.

    Raises
    ------
    ValueError, TypeError
        Arguments that make no sense; heddle's own are `heddle.InputError` and `heddle.UsageError`.
    heddle.DeviceError
        There is no such device.
    """
    begin = perf_counter()
    if not isinstance(tune_params, dict):
        raise ValueError(f"tune_params: found {type(tune_params).__name__}, expected a dict")
    if parallel and simulation_mode:
        raise ValueError("parallel: nothing runs in simulation_mode")
    names = _check_names(tune_params, block_size_names)
    if objectives is not None:
        if not isinstance(objectives, dict):
            raise ValueError("objectives: expected a dict, whose values say whether more is better")
        wanted, higher = list(objectives), [bool(each) for each in objectives.values()]
    elif isinstance(objective, (list, tuple)):
        pairs = [
            get_objective_defaults(each, None if objective_higher_is_better is None else objective_higher_is_better[i])
            for i, each in enumerate(objective)
        ]
        wanted, higher = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    else:
        one, more = get_objective_defaults(objective, objective_higher_is_better)
        wanted, higher = [one], [more]
    if not simulation_mode and not observers:
        for each in wanted:
            if each != "time" and each not in (metrics or {}):
                raise UsageError(f"objective: found {each!r}, expected 'time', one of metrics, or what one of observers adds")
    rounds = whole("iterations", iterations, 1)
    name = strategies.named(strategy)
    options = dict(strategy_options or {})
    if name in ("brute_force", "random_sample"):
        for option in options:
            if option not in _OPTIONS:
                raise ValueError(f"strategy_options: found {option!r}, expected one of {', '.join(sorted(_OPTIONS))}")
    kept = Cache(cache, kernel_name, problem_size, tune_params, wanted, bool(simulation_mode))
    space = Space(tune_params, restrictions, 10**9 if simulation_mode else _MOST_THREADS, names)
    if verbose:
        print(f"Searchspace has {space.size()} configurations after restrictions.")
    first = next(iter(space), None)
    if first is None:
        raise InputError("restrictions: no configuration is allowed")
    evaluations = options.get("max_fevals")
    budget = Budget(options.get("time_limit"), None if evaluations is None else int(evaluations), perf_counter() - begin)
    common = (tune_params, metrics, quiet, verbose, kept, budget)
    if simulation_mode:
        runner = SimulationRunner(*common)
    else:
        kernel = KernelSource(
            kernel_name, kernel_source, problem_size, list(arguments), space.tune_params,
            grid_div=(grid_div_x, grid_div_y, grid_div_z), lang=lang, smem_args=smem_args, cmem_args=cmem_args,
            texmem_args=texmem_args, compiler_options=compiler_options, defines=defines, block_size_names=names,
            answer=answer,
        )  # fmt: skip
        bench = Bench(kernel, device_label(device), first, space.listed())
        if verify is None and answer is not None:
            _check_answer(answer, kernel.arguments)
        kept.open(bench.device["name"])
        runner = DeviceRunner(
            bench, *common, iterations=rounds, answer=answer, atol=atol, verify=_with_tolerance(verify),
            observers=prepared(observers, bench.device), strategy=f"kernel_tuner {name}",
        )  # fmt: skip
        runner.at_once = max(2, bench.device["compiler_threads"])
    runner.objectives = wanted
    try:
        results = strategies.search(name, space, runner, options, wanted, higher, seed)
    finally:
        kept.close()
    env = runner.environment()
    sound = [result for result in results if "__error__" not in result]
    if results and not sound and not simulation_mode:
        raise InputError(f"{kernel_name}: every configuration failed; {_one_line(runner.complaints)}")
    if sound:
        _report(env, results, wanted, higher, tune_params, metrics, quiet, runner)
        if not simulation_mode:
            line = runner.keep(get_best_config(results, "time"))
            if line and not quiet:
                print(line)
    elif not quiet:
        print("no results to report")
    _add_totals(env, results, 1000 * (perf_counter() - begin))
    return results, env


def _check_answer(answer, arguments) -> None:
    for i, (expected, argument) in enumerate(zip(answer, arguments)):
        if expected is not None and np.size(expected) != np.size(argument.value):
            raise UsageError(f"answer: element {i} has {np.size(expected)} numbers, the argument {np.size(argument.value)}")


def _one_line(complaints) -> str:
    return complaints[0].replace("\n", " ") if complaints else "the device allows none"


def _with_tolerance(verify):
    """The user's function may do without `atol`."""
    if verify is None:
        return None
    import inspect

    if "atol" in inspect.signature(verify).parameters:
        return verify
    return lambda answer, results, atol=None: verify(answer, results)


def _report(env, results, wanted, higher, tune_params, metrics, quiet, runner) -> None:
    keys = [*tune_params, *wanted, *(metrics or {})]
    if len(wanted) == 1:
        env["best_config"] = get_best_config(results, wanted[0], higher[0])
        best, title = [env["best_config"]], f"BEST PERFORMING CONFIGURATION FOR OBJECTIVE {wanted[0]}:"
    else:
        env["best_config"] = best = get_pareto_results(results, wanted, higher)
        title = f"BEST PERFORMING CONFIGURATIONS FOR OBJECTIVES: {wanted}:"
    if quiet:
        return
    print(f"\n{title}")
    for each in best:
        print(get_config_string(each, keys, runner.units))


_PARTS = ("framework_time", "strategy_time", "compile_time", "verification_time", "benchmark_time")


def _add_totals(env, results, milliseconds) -> None:
    if any(part not in result for result in results for part in _PARTS):
        return
    totals = {f"total_{part}": sum(result[part] for result in results) for part in _PARTS}
    env.update(totals)
    env["overhead_time"] = milliseconds + env.get("simulated_time", 0) - sum(totals.values())


def run_kernel(
    kernel_name,
    kernel_source,
    problem_size,
    arguments,
    params,
    grid_div_x=None,
    grid_div_y=None,
    grid_div_z=None,
    lang=None,
    device=0,
    platform=0,
    smem_args=None,
    cmem_args=None,
    texmem_args=None,
    compiler=None,
    compiler_options=None,
    defines=None,
    block_size_names=None,
    quiet=False,
    log=None,
):
    """Runs a kernel once, in one configuration.

    Parameters
    ----------
    params : dict
        A value for each parameter.
    kernel_name, kernel_source, problem_size, arguments, ...
        As of `tune_kernel`.

    Returns
    -------
    list
        The arguments after the launch: NumPy arrays where arrays of NumPy or CuPy were passed, tensors where tensors
        were, and numbers as they were.

    Raises
    ------
    RuntimeError
        The kernel could not be compiled or run (`heddle.DeviceError` if the device itself failed).
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names = _check_names(params, block_size_names)
    kernel = KernelSource(
        kernel_name, kernel_source, problem_size, list(arguments), {name: [value] for name, value in params.items()},
        grid_div=(grid_div_x, grid_div_y, grid_div_z), lang=lang, smem_args=smem_args, cmem_args=cmem_args,
        texmem_args=texmem_args, compiler_options=compiler_options, defines=defines, block_size_names=names,
    )  # fmt: skip
    element = tuple(params.values())
    bench = Bench(kernel, device_label(device), element, [element])
    if not quiet:
        print(f"Using: {bench.device['name']}")
    if (why := bench.violated(element)) is not None:
        raise RuntimeError(f"{kernel_name}: the device does not allow {get_config_string(params)}: {why}")
    ((compiled, _, log),) = bench.compiled([element])()
    if not compiled:
        raise RuntimeError(f"{kernel_name}: cannot be compiled: {log}")
    results, told = bench.outcome(element)
    if results is None:
        raise RuntimeError(f"{kernel_name}: {told['status']}: {told['message']}")
    return [_as_given(argument.original, found) for argument, found in zip(kernel.arguments, results)]


def _as_given(given, found):
    if hasattr(given, "detach") and isinstance(found, np.ndarray):
        import torch

        return torch.from_numpy(found)
    return found
