"""A kernel in one configuration as a function of NumPy arrays. `heddle.Kernel` is what programs call often."""

from __future__ import annotations

from heddle.kernel_tuner.interface import run_kernel


class PythonKernel:
    """Runs a kernel on copies of its arguments, and returns what it left in them.

    Parameters
    ----------
    kernel_name, kernel_string, problem_size, arguments, params, device, ...
        As of `heddle.kernel_tuner.run_kernel`.
    inputs, outputs : list of bool, optional
        Which arguments a call copies to the device, and which it returns; by default all. What is no input has the contents
        of `arguments`.
    """

    def __init__(self, kernel_name, kernel_string, problem_size, arguments, params=None, inputs=None, outputs=None, device=0,
                 platform=0, block_size_names=None, grid_div_x=None, grid_div_y=None, grid_div_z=None, verbose=True, lang=None,
                 results_file=None):
        if results_file is not None:
            raise NotImplementedError("results_file: expected params, which name the configuration")
        self._arguments = list(arguments)
        self._inputs = [True] * len(self._arguments) if inputs is None else list(inputs)
        self._outputs = [True] * len(self._arguments) if outputs is None else list(outputs)
        self._run = lambda given: run_kernel(
            kernel_name, kernel_string, problem_size, given, params or {}, grid_div_x, grid_div_y, grid_div_z, lang, device,
            block_size_names=block_size_names, quiet=True,
        )  # fmt: skip

    def __call__(self, *arguments):
        """The outputs, in a list."""
        given = [
            new if is_input else old for new, old, is_input in zip(arguments or self._arguments, self._arguments, self._inputs)
        ]
        return [result for result, is_output in zip(self._run(given), self._outputs) if is_output]
