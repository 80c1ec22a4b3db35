"""Described kernels, called with arrays of any library."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TypedDict

from heddle import _heddle
from heddle._arguments import device_label, file_name, listed, seconds, sizes, text, whole
from heddle._worker import command
from heddle.errors import InputError, UsageError


class Choice(TypedDict):
    """A configuration, and why it was chosen."""

    configuration: str
    tier: str
    reason: str


class Explanation(TypedDict):
    """What `Kernel.explain` returns."""

    kernel: str
    device: str
    problem: str
    running: Choice | None
    awaited: Choice | None
    failures: list[str]
    text: str


def _written(description, sources, folder: Path) -> Path:
    """A description that is no file, and its sources, as files of `folder`."""
    text = description if isinstance(description, str) else json.dumps(description)
    for name, source in (sources or {}).items():
        if not isinstance(name, str) or not isinstance(source, str):
            raise InputError(f"sources: {name!r} is {type(source).__name__}, expected texts by their names")
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or not path.parts or "\0" in name:
            raise InputError(f"sources: found the name {name!r}, expected one of a file beside the description")
        file = folder / path
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(source, encoding="utf-8")
        except (OSError, UnicodeEncodeError) as error:
            raise InputError(f"sources: {name!r} cannot be a file: {getattr(error, 'strerror', None) or error}") from None
    file = folder / "description.json"
    file.write_text(text, encoding="utf-8")
    return file


class Kernel(_heddle.Kernel):
    """A kernel of your own, which runs in the fastest configuration that is known for each size.

    Parameters
    ----------
    description : path, dict or str
        The file that describes the kernel (docs/formats.md, "Descriptions of kernels"; T1 files too), or its content: a
        dict, or JSON text that begins with ``{``.
    sources : dict of str, optional
        For a description that is no file: the texts of the sources and headers that it names, by these names. The
        description can name no other file.
    device : str, optional
        ``"cuda:0"``, ``"cpu"`` (for kernels written for it), ``"emulator"``; by default the best one.
    profiles : path, optional
        The profile database to choose from, and to tune into; by default the program's.
    wait : bool
        Whether the first call at new sizes waits for the chosen configuration to be compiled. Otherwise the default
        configuration runs until it is.
    allow_outside : bool
        Whether the description, its sources and the compiler's options may name files outside its folder.
    objective : str
        What `tune` makes small, and what the profiles were found for that calls choose from: ``"time"``, ``"energy"``, or an
        expression as of ``heddle tune --objective``.

    Raises
    ------
    InputError
        The description makes no sense; the line says where.
    DeviceError
        There is no such device, or it has no compiler.
    UsageError
        The kernel is written for another kind of device.

    Notes
    -----
    ``kernel(*arguments, stream=None, **sizes)`` launches it. `arguments` are those of the kernel's function, in its order,
    then arrays for what goes to constant memory alone (``"constant"`` without ``"passed"``), in the order of the description:
    numbers, and arrays with ``__cuda_array_interface__`` or DLPack (CuPy, PyTorch, JAX, Numba) on a GPU, or with the buffer
    protocol (NumPy) or DLPack on the CPU and the emulator; for a struct, anything with as many bytes. Nothing is copied
    or converted: arrays have the type that the description says, lie on the kernel's device, are contiguous, and at
    least as long as it says for the sizes. A size that is not named is the value of the argument that the
    description calls by its name (``"value": "n"``), or else the number of elements of the array that has so many
    (``"elements": "n"``).

    The launch goes to the current stream of the arrays' library, or to `stream` (CuPy's, PyTorch's, Numba's, anything
    with ``__cuda_stream__``, or an address), and is not waited for. JAX has no current stream: the call then
    waits until the kernel is done, and the arrays that it writes must not be used elsewhere meanwhile. On the CPU and the
    emulator a call returns when the kernel is done.

    Where `allow_outside` is False, no name in a description or a source leads to a file outside its folder: neither those of
    sources, headers and contents, nor those of ``#include`` and ``#line``, which no macro may name either; headers of the
    system are found by names such as ``<cuda_fp16.h>``. A source is a program nevertheless. On the CPU and the emulator it runs
    in this process, with all that it may do there, and its compiler reads what its assembler lines say; a GPU keeps it
    from the host's memory. Take sources from those alone whose programs you would run.

    The GIL is released while the kernel is compiled and launched.

    Examples
    --------
    >>> scale = heddle.Kernel("scale.json")
    >>> scale(2.0, x, y, x.size)
    >>> scale.tune([{"n": 1 << 24}], budget=20)
    """

    def __init__(self, description, *, sources: Mapping[str, str] | None = None, device: str | None = None,
                 profiles=None, wait: bool = False, allow_outside: bool = False, objective: str = "time"):
        options = (device_label(device), file_name("profiles", profiles), bool(wait))
        objective = text("objective", objective, "'time', 'energy' or an expression")
        is_text = isinstance(description, str) and description.lstrip()[:1] == "{"
        if not is_text and not isinstance(description, Mapping):
            if sources is not None:
                raise UsageError("sources: a description that is a file has its sources beside it")
            if not isinstance(description, (str, bytes, os.PathLike)):
                raise UsageError(f"description: found {type(description).__name__}, expected a path, a dict or JSON text")
            file = file_name("description", description)
            try:
                super().__init__(file, *options, bool(allow_outside), objective)
            except InputError as error:
                raise InputError(str(error).replace("--allow-outside allows", "allow_outside=True allows")) from None
            return
        if allow_outside:
            raise UsageError("allow_outside: a description that is no file names the texts in sources alone")
        if sources is not None and not isinstance(sources, Mapping):
            raise UsageError(f"sources: found {type(sources).__name__}, expected a dict of texts")
        with tempfile.TemporaryDirectory(prefix="heddle-kernel-") as folder:
            try:
                file = _written(description if is_text else dict(description), sources, Path(folder))
            except (TypeError, ValueError, RecursionError) as error:
                if isinstance(error, InputError):
                    raise
                raise InputError(f"description: cannot be JSON: {str(error).splitlines()[0]}") from None
            try:
                super().__init__(str(file), *options, False, objective)
            except InputError as error:  # the folder means nothing to the reader, and nothing can be allowed
                raise InputError(str(error).replace(f"{folder}/", "").replace("; --allow-outside allows that", "")) from None

    def prepare(self, /, **sizes: int) -> None:
        """Compiles what calls at some sizes run, so that the first of them does not wait for it.

        Parameters
        ----------
        **sizes
            All sizes by name, ``n=1 << 24``.

        Raises
        ------
        UsageError
            A size is missing, or there is none of this name.
        DeviceError
            The kernel cannot be compiled.
        """
        self._prepare(**sizes)

    def explain(self, /, **sizes: int) -> Explanation:
        """Which configuration calls at some sizes run, and why.

        Parameters
        ----------
        **sizes
            All sizes by name, ``n=1 << 24``.

        Returns
        -------
        dict
            ``kernel``, ``device`` and ``problem`` as texts; ``running``, what a call runs now, and ``awaited``, what is
            being compiled to take its place: each None or a dict with ``configuration``, ``tier`` (how near the profile is that
            it comes from: ``"exact"``, ...) and ``reason``; ``failures``, a list of what could not be used; and all that as
            ``text``.

        Raises
        ------
        UsageError
            A size is missing, or there is none of this name.
        """
        return self._explain(**sizes)

    def tune(self, problems: Sequence[Mapping[str, int]] | None = None, *, budget: float = 30.0,
             strategy: str | None = None, seed: int = 1, verbose: bool = False) -> list[dict]:
        """Finds the fastest configurations and keeps them in the profile database; later calls use them.

        Kernels are compiled and measured in processes of their own, with contents that the description says; whatever
        they do there, this one goes on. Ctrl-C ends it, and what was measured is kept.

        Parameters
        ----------
        problems : list of dict, optional
            Sizes by name, ``[{"n": 1 << 24}]``; by default those of the description.
        budget : float
            Seconds for all of them.
        strategy : str, optional
            As ``heddle tune --strategy``.
        seed : int
            Of the search and the contents.
        verbose : bool
            Whether to show a progress bar.

        Returns
        -------
        list of dict
            For each problem ``problem`` (its text), ``configuration`` and ``microseconds`` of the winner (None where none
            could be verified), ``untuned`` and ``untuned_microseconds`` of the default, ``stored`` (False if a faster
            profile was there), ``evaluations``, and ``statuses`` (how many configurations ended how).

        Raises
        ------
        UsageError
            Sizes that the kernel does not have.
        InputError, DeviceError, ProfilesError
            What the tuner says, one line.
        """
        wanted = [sizes("problems", problem) for problem in listed("problems", () if problems is None else problems)]
        how = "" if strategy is None else text("strategy", strategy)
        arguments = (wanted, seconds("budget", budget), how, whole("seed", seed, 0, 2**64 - 1), command("worker"))
        if not verbose:
            return self._tune(*arguments, None)
        from tqdm.auto import tqdm

        with tqdm(total=1.0, desc=self.name, bar_format="{desc}: {percentage:3.0f}%|{bar}| {postfix}") as bar:

            def show(problem: str, evaluations: int, fraction: float) -> None:
                bar.set_postfix_str(f"{problem}: {evaluations} tried", refresh=False)
                bar.update(max(0.0, min(fraction, 1.0) - bar.n))

            return self._tune(*arguments, show)

    def capture(self, file, *arguments, **sizes) -> None:
        """Writes a call, with all that is needed to tune the kernel for it on another machine, into a file.

        ``heddle tune --capture FILE`` tunes it. The arguments are those of a call; it is not launched.

        Parameters
        ----------
        file : path
            Is written whole, or not at all.
        *arguments
            As of a call.
        **sizes
            As of a call.

        Raises
        ------
        UsageError
            The buffers have more than 8 GiB.
        InputError
            Arguments that a call refuses, or a file that cannot be written.
        """
        self._capture(file_name("file", file), *arguments, **sizes)

    def profiles(self):
        """What the database knows of this kernel, as `heddle.profiles` shows it.

        Returns
        -------
        pandas.DataFrame
            Empty where there is no database yet.

        Raises
        ------
        InputError
            The file is no profile database, or damaged.
        """
        from heddle import frames

        return frames.of_families(self._profiles, lambda family: family == self.name)

    def notices(self) -> list[str]:
        """What there is to say about choices that failed or were made with other kernels.

        Returns
        -------
        list of str
            The lines that came since the last time.
        """
        return self._notices()

    def __repr__(self):
        return f"<heddle.Kernel {self.name} on {self.device}>"
