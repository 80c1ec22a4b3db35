#!/usr/bin/env python3
"""Runs parts of the evidence scripts on several cards of one machine at a time, each card with its share of the processors.

    side_by_side.py SECONDS BUILD OUTPUT DATA PARTS [PARTS...]

PARTS: names as of gpu_evidence --seconds, in one word: what the first card measures, the second, and so on. A card sees itself
alone (CUDA_VISIBLE_DEVICES), works with a copy of BUILD of its own, BUILD-0 and so on, where profiles and compiled code stay
from call to call, and leaves its results in OUTPUT/0 and so on. Where something else would run on all of them at a time, it is
no part for this program: choice/cards. Compilers of one machine get in each other's way all the same, so that searches find
less in a given time; what their kernels take differs little (bench/results/nvidia-h100/NOTES.md). Exit code: 0 if all parts
that were begun are done, else the first that is not 0.
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def shares(processors, count):
    """The processors of each of so many cards: neighbours, as many for each as for the others, at least one."""
    each = max(len(processors) // count, 1)
    return [[processors[(card * each + i) % len(processors)] for i in range(each)] for card in range(count)]


def of_card(card, seconds, build, output, data, parts):
    """The command, and the folders that it needs."""
    own, results = pathlib.Path(f"{build}-{card}"), pathlib.Path(output, str(card))
    return [str(HERE / "gpu_evidence"), str(own), str(results), data, "--seconds", str(seconds), *parts], own, results


def run_all(commands, processors):
    """Runs them at the same time, card by card; at SIGTERM asks all of them to stop. Their exit codes."""
    running, stopped = [], []

    def stop(*_):
        stopped.append(True)
        for process in running:
            process.terminate()

    before = signal.signal(signal.SIGTERM, stop)
    try:
        for card, (command, own) in enumerate(zip(commands, shares(processors, len(commands)))):
            running.append(subprocess.Popen(command, env={**os.environ, "CUDA_VISIBLE_DEVICES": str(card)},
                                            preexec_fn=lambda own=own: os.sched_setaffinity(0, own)))
            if stopped:  # before this one was there
                running[-1].terminate()
        return [process.wait() for process in running]
    finally:
        stop()
        signal.signal(signal.SIGTERM, before)


def main(words):
    if len(words) < 5 or not re.fullmatch(r"\d+", words[0]):
        print(__doc__.split("\n\n")[1].strip(), file=sys.stderr)
        return 2
    seconds, (build, output, data), lanes = words[0], map(os.path.abspath, words[1:4]), words[4:]
    commands = []
    for card, parts in enumerate(lanes):
        command, own, results = of_card(card, seconds, build, output, data, parts.split())
        if not own.exists():
            shutil.copytree(build, own, symlinks=True)
        results.mkdir(parents=True, exist_ok=True)
        commands.append(command)
    return next((code for code in run_all(commands, sorted(os.sched_getaffinity(0))) if code != 0), 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
