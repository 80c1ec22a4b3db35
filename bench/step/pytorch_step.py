#!/usr/bin/env python3
"""The online training step of a SONFIN in PyTorch: what one gets without writing a kernel.

    bench/step/pytorch_step.py --cells 640x16x1,1024x1024x10 --output pytorch_step.json [--device cuda] [--limit 200]

The same step as docs/design.md, "The network", with the scaled update, without the rule decision (which here would need
the host): firing in the log domain, normalised, error, all gradients from the parameters before the update. `eager`
submits the operations of each sample one by one; `captured` replays a CUDA graph of 64 samples, so that nothing but the
kernels themselves is timed; `compiled` is what torch.compile makes of one step (mode "max-autotune-no-cudagraphs"), captured
likewise. Each is set up and timed --repetitions times from the beginning; the median and all times are kept. TF32 is off
unless --tf32 is given; the file says which. All are compared with float64 first. Microseconds per sample, medians of the rounds.
Cells are rules x dim x outputs; one that is named again counts once. The file is written after every cell; what does not fit
into --limit seconds is left out.
"""
import argparse
import json
import math
import os
import statistics
import time

import torch

CONSEQUENT_RATE, ANTECEDENT_RATE, MINIMUM_WIDTH = 0.3, 0.15, 0.001
CAPTURED_SAMPLES = 64


def update(centres, widths, consequents, x, d):
    """The step as a function of tensors alone, so that torch.compile can make one program of it."""
    difference = x - centres
    ratio = difference / widths
    square = ratio * ratio
    firing = torch.softmax(-square.sum(1), 0)
    y = firing @ consequents
    error = y - d
    gradient = firing * ((consequents - y) @ error)
    consequents.addr_(firing, error, alpha=-CONSEQUENT_RATE)
    # sigma^2 dE/dm = 2 g (x - m);  sigma^2 dE/dsigma = 2 g (x - m)^2 / sigma
    change = difference * (2.0 * ANTECEDENT_RATE * gradient).unsqueeze(1)
    centres.sub_(change)
    widths.addcmul_(change, ratio, value=-1.0).clamp_(min=MINIMUM_WIDTH)


class Network:
    """R rules over D inputs with L outputs, and rows near its rules."""

    def __init__(self, rules, dim, outputs, samples, device, dtype, seed=1):
        random = torch.Generator().manual_seed(seed)

        def uniform(*shape):
            return 2.0 * torch.rand(*shape, generator=random, dtype=torch.float64) - 1.0

        centres = 0.5 + 0.43 * uniform(rules, dim)
        widths = 0.25 * math.sqrt(dim / 2.0) * (1.0 + 0.1 * uniform(rules, dim))
        near = torch.arange(samples) % rules
        rows = centres[near] + 0.1 * uniform(samples, dim)
        self.centres, self.widths = centres.to(device, dtype), widths.to(device, dtype)
        self.consequents = (0.5 * uniform(rules, outputs)).to(device, dtype)
        self.rows, self.targets = rows.to(device, dtype), (1.25 * uniform(samples, outputs)).to(device, dtype)

    def parameters(self):
        return self.centres, self.widths, self.consequents

    def step(self, i):
        """Learns row i. The operations are fused as far as PyTorch's own ones go."""
        update(*self.parameters(), self.rows[i], self.targets[i])


def worst_error(cell, device, learn):
    """Norm of the difference of all changes over `learn` from those in float64, relative; `learn(network)` learns rows
    0, 1, ... and says how many."""
    ours = Network(*cell, CAPTURED_SAMPLES, device, torch.float32)
    exact = Network(*cell, CAPTURED_SAMPLES, "cpu", torch.float64)
    before = [p.clone() for p in exact.parameters()]
    for i in range(learn(ours)):
        exact.step(i)
    difference = sum(((a.cpu().double() - b) ** 2).sum().item() for a, b in zip(ours.parameters(), exact.parameters()))
    change = sum(((a - b) ** 2).sum().item() for a, b in zip(exact.parameters(), before))
    return math.sqrt(difference / change)


def learn_eagerly(count):
    def learn(network):
        for i in range(count):
            network.step(i)
        return count

    return learn


def capture(network, step):
    """A graph of CAPTURED_SAMPLES calls of step(network, row). Those that warm PyTorch up are taken back."""
    kept = [p.clone() for p in network.parameters()]
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for i in range(3):
            step(network, i)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for i in range(CAPTURED_SAMPLES):
            step(network, i)
    for parameter, old in zip(network.parameters(), kept):
        parameter.copy_(old)
    return graph


def learn_captured(step):
    def learn(network):
        capture(network, step).replay()
        torch.cuda.synchronize()
        return CAPTURED_SAMPLES

    return learn


def compiled_step():
    """For one cell: rows are copied into tensors of their own, so that every sample runs the same program."""
    torch._dynamo.reset()
    program = torch.compile(update, mode="max-autotune-no-cudagraphs", dynamic=False)

    def step(network, i):
        program(*network.parameters(), network.rows[i].clone(), network.targets[i].clone())

    return step


def synchronize(device):
    if device == "cuda":
        torch.cuda.synchronize()


def timed(run, samples, device, rounds):
    run()
    times = []
    for _ in range(rounds):
        synchronize(device)
        start = time.perf_counter()
        run()
        synchronize(device)
        times.append((time.perf_counter() - start) * 1e6 / samples)
    quarters = statistics.quantiles(times, n=4)
    return {"median": statistics.median(times), "spread": (quarters[2] - quarters[0]) / 2.0, "samples": samples}


def repeated(set_up, samples, device, rounds, repetitions):
    """The median over all rounds of all repetitions; set_up() makes a function that learns `samples` rows."""
    results = [timed(set_up(), samples, device, rounds) for _ in range(repetitions)]
    medians = [result["median"] for result in results]
    middle = min(results, key=lambda result: abs(result["median"] - statistics.median(medians)))
    return {**middle, "repetitions": medians}


def measure(cell, device, rounds, repetitions, ways):
    result = {"problem": dict(zip(("rules", "dim", "outputs"), cell))}

    def network():
        return Network(*cell, CAPTURED_SAMPLES, device, torch.float32)

    def eager():
        subject, learn = network(), learn_eagerly(CAPTURED_SAMPLES)
        return lambda: learn(subject)

    def replayed(step):
        replays = 8

        def set_up():
            graph = capture(subject := network(), step)

            def run():
                for _ in range(replays):
                    graph.replay()
                return subject  # which the graph works on

            return run

        return repeated(set_up, replays * CAPTURED_SAMPLES, device, rounds, repetitions)

    if "eager" in ways:
        result["eager"] = repeated(eager, CAPTURED_SAMPLES, device, rounds, repetitions)
        result["eager"]["worst_error"] = worst_error(cell, device, learn_eagerly(8))
    if device != "cuda":
        return result
    if "captured" in ways:
        result["captured"] = replayed(Network.step)
        result["captured"]["worst_error"] = worst_error(cell, device, learn_captured(Network.step))
    if "compiled" in ways:
        try:
            step = compiled_step()
            result["compiled"] = replayed(step)
            result["compiled"]["worst_error"] = worst_error(cell, device, learn_captured(step))
        except Exception as error:  # torch.compile needs a C compiler and Triton; without them the other ways remain
            result.pop("compiled", None)
            result["compiled_failed"] = str(error).strip().splitlines()[0]
    return result


def write(file, document):
    with open(file + ".part", "w", encoding="utf-8") as out:
        json.dump(document, out, indent=1)
        out.write("\n")
    os.replace(file + ".part", file)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", required=True)
    parser.add_argument("--output", default="pytorch_step.json")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--ways", default="eager,captured,compiled")
    parser.add_argument("--tf32", action="store_true", help="let matrix products round their inputs to TF32")
    parser.add_argument("--limit", type=float, default=math.inf)
    options = parser.parse_args()

    cells = list(dict.fromkeys(tuple(map(int, cell.split("x"))) for cell in options.cells.split(",")))
    device = options.device
    torch.backends.cuda.matmul.allow_tf32 = options.tf32
    torch.backends.cudnn.allow_tf32 = options.tf32
    document = {"torch": torch.__version__, "device": device, "unit": "microseconds per sample",
                "name": torch.cuda.get_device_name() if device == "cuda" else "cpu", "rounds": options.rounds,
                "repetitions": options.repetitions, "tf32": torch.backends.cuda.matmul.allow_tf32,
                "complete": False, "cells": []}
    start = time.monotonic()
    with torch.no_grad():
        for cell in cells:
            if time.monotonic() - start > options.limit:
                break
            document["cells"].append(measure(cell, device, options.rounds, options.repetitions, options.ways.split(",")))
            document["complete"] = len(document["cells"]) == len(cells)
            write(options.output, document)
    print(f"{len(document['cells'])} of {len(cells)} cells in {options.output}")


if __name__ == "__main__":
    main()
