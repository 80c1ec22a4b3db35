#!/usr/bin/env python3
"""Training of multilayer perceptrons in PyTorch: what one gets without writing a kernel.

    bench/mlp/mlp_pytorch.py --cells 784-25-15-10x10000:adaptive,14-10-1x32561:plain,784-128-10x65536:adam:64 \\
        --output mlp_pytorch.json [--device cuda] [--limit 200] [--tf32 off,on] [--ways eager,captured,compiled]

A cell is LAYERSxROWS:RULE[:BATCH]: RULE is plain (sum of the gradients, Gurgel), adaptive (a step for every weight, momentum
and robust training, Toman) or adam; without BATCH a step takes all rows. Hidden layers and outputs are logistic, the error
is half the squared one; rows and targets are random. The formulas are those of docs/design.md, "Perceptrons"; the backward
pass is written out, so that autograd costs nothing, and all weights lie in one array, so that a rule takes few operations.
`eager` submits the operations one by one; `captured` replays a CUDA graph of 16 steps; `compiled` is torch.compile, its
graph captured too. Each is compared with float64 over 3 steps first. Microseconds per step, medians of five rounds. The file
is written after every cell; what does not fit into --limit seconds is left out.
"""
import argparse
import json
import math
import statistics
import time

import torch

CAPTURED_STEPS = 16
ROUNDS = 5


class Perceptron:
    """Weights, the state of the rule, and rows, all from one seed."""

    def __init__(self, sizes, rows, rule, batch, device, dtype):
        random = torch.Generator().manual_seed(7)

        def uniform(*shape):
            return torch.rand(*shape, generator=random, dtype=torch.float64)

        self.sizes, self.rule, self.count, self.batch = sizes, rule, rows, batch or rows
        self.x = uniform(rows, sizes[0]).to(device, dtype)
        if sizes[-1] == 1:
            self.d = (uniform(rows, 1) > 0.5).to(device, dtype)
        else:
            self.d = torch.eye(sizes[-1], dtype=torch.float64)[(uniform(rows) * sizes[-1]).long()].to(device, dtype)
        total = sum(n * (m + 1) for m, n in zip(sizes, sizes[1:]))
        self.w = (uniform(total) - 0.5).to(device, dtype)
        state = {"plain": 0, "adaptive": 3, "adam": 2}[rule]
        self.state = [torch.zeros_like(self.w) for _ in range(state)]
        if rule == "adaptive":
            self.state[0].fill_(0.5)
            self.best = self.w.clone()
            self.best_error = torch.full((), 1e9, device=device, dtype=dtype)
        if rule == "adam":
            self.powers = torch.ones(2, device=device, dtype=dtype)
        self.error = torch.zeros((), device=device, dtype=dtype)

    def parts(self):
        at = 0
        for m, n in zip(self.sizes, self.sizes[1:]):
            yield self.w[at:at + m * n].view(n, m), self.w[at + m * n:at + (m + 1) * n]
            at += (m + 1) * n

    def gradient(self, x, d):
        layers = list(self.parts())
        y = [x]
        for weight, bias in layers:
            y.append(torch.sigmoid(torch.addmm(bias, y[-1], weight.t())))
        difference = y[-1] - d
        delta = difference * y[-1] * (1 - y[-1])
        parts = []
        for l in range(len(layers) - 1, -1, -1):
            parts = [(delta.t() @ y[l]).reshape(-1), delta.sum(0)] + parts
            if l > 0:
                delta = (delta @ layers[l][0]) * y[l] * (1 - y[l])
        return torch.cat(parts), (difference * difference).sum()

    def step(self, start):
        if self.batch == self.count:
            x, d = self.x, self.d
        else:
            x, d = self.x[start:start + self.batch], self.d[start:start + self.batch]
        g, squares = self.gradient(x, d)
        if self.rule == "plain":
            self.w.add_(g, alpha=-0.1 / self.batch)
        elif self.rule == "adam":
            m, v = self.state
            m.lerp_(g / self.batch, 0.1)
            v.lerp_((g / self.batch) ** 2, 0.001)
            self.powers.mul_(self.powers.new_tensor([0.9, 0.999]) if not self.constants else self.constants[0])
            self.w.sub_(0.001 * (m / (1 - self.powers[0])) / ((v / (1 - self.powers[1])).sqrt() + 1e-8))
        else:
            eta, last, velocity = self.state
            change = -g / self.batch
            error = (squares / (self.count * self.sizes[-1])).sqrt() / 2
            better, worse = error < self.best_error, error >= 1.02 * self.best_error
            self.best.copy_(torch.where(better, self.w, self.best))
            self.best_error.copy_(torch.where(better, error, self.best_error))
            step = torch.clamp(eta * torch.where(change * last > 0, 1.9, 0.1), max=10.0)
            pace = change + 0.7 * velocity
            self.w.copy_(torch.where(worse, self.best, self.w + step * pace))
            eta.copy_(torch.where(worse, 0.5 * eta, step))
            last.copy_(torch.where(worse, 0.0, change))
            velocity.copy_(torch.where(worse, 0.0, pace))
        self.error.copy_(squares / 2 / self.batch)

    constants = None

    def prepare(self):
        if self.rule == "adam":
            self.constants = [torch.tensor([0.9, 0.999], device=self.w.device, dtype=self.w.dtype)]
        return self

    def starts(self, steps):
        per_epoch = max(self.count // self.batch, 1)
        return [(i % per_epoch) * self.batch for i in range(steps)]


def make(cell, device, dtype):
    return Perceptron(*cell, device, dtype).prepare()


def worst_error(cell, device, learn):
    """Norm of the difference of the change over three steps from that in float64, relative to the change."""
    ours, exact = make(cell, device, torch.float32), make(cell, "cpu", torch.float64)
    before = exact.w.clone()
    learn(ours, 3)
    for start in exact.starts(3):
        exact.step(start)
    return float((ours.w.cpu().double() - exact.w).norm() / (exact.w - before).norm())


def eager(network, steps):
    for start in network.starts(steps):
        network.step(start)


def compiled(network, steps):
    step = torch.compile(network.step, mode="default", dynamic=False)
    for start in network.starts(steps):
        step(start)


class Captured:
    """Replays of a CUDA graph of 16 steps."""

    def __init__(self, network, step):
        self.network = network
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for start in network.starts(3):
                step(start)
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            for start in network.starts(CAPTURED_STEPS):
                step(start)

    def run(self, replays):
        for _ in range(replays):
            self.graph.replay()


def timed(run, steps, device, seconds=0.25):
    """Microseconds per step: median of the rounds, each of about a twentieth of `seconds` or more."""
    def synchronize():
        if device == "cuda":
            torch.cuda.synchronize()

    run(1)
    synchronize()
    begin = time.perf_counter()
    run(2)
    synchronize()
    count = max(1, int(2 * seconds / ROUNDS / max(time.perf_counter() - begin, 1e-6)))
    times = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        run(count)
        synchronize()
        times.append(1e6 * (time.perf_counter() - begin) / (count * steps))
    return statistics.median(times)


def measure(cell, way, device):
    network = make(cell, device, torch.float32)
    if way == "eager":
        error = worst_error(cell, device, eager)
        return error, timed(lambda count: eager(network, count), 1, device)
    step = network.step if way == "captured" else torch.compile(network.step, dynamic=False)
    error = worst_error(cell, device, eager if way == "captured" else compiled)
    graph = Captured(network, step)
    return error, timed(graph.run, CAPTURED_STEPS, device)


def parse(text):
    shape, rule, *batch = text.split(":")
    sizes, rows = shape.split("x")
    return [int(n) for n in sizes.split("-")], int(rows), rule, int(batch[0]) if batch else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--limit", type=float, default=200)
    parser.add_argument("--tf32", default="off,on")
    parser.add_argument("--ways", default="eager,captured,compiled")
    options = parser.parse_args()
    end = time.monotonic() + options.limit
    document = {"torch": torch.__version__, "cuda": torch.version.cuda, "rows": [],
                "device": torch.cuda.get_device_name(0) if options.device == "cuda" else "cpu"}
    for way in options.ways.split(","):
        for text in options.cells.split(","):
            for tf32 in options.tf32.split(","):
                if time.monotonic() > end:
                    return
                cell = parse(text)
                torch.backends.cuda.matmul.allow_tf32 = tf32 == "on"
                row = {"cell": text, "way": way, "tf32": tf32}
                try:
                    row["worst_error"], row["microseconds_per_step"] = measure(cell, way, options.device)
                    steps = max(cell[1] // (cell[3] or cell[1]), 1)
                    row["microseconds_per_epoch"] = steps * row["microseconds_per_step"]
                    row["ok"] = math.isfinite(row["worst_error"]) and row["worst_error"] < (0.05 if tf32 == "on" else 2e-3)
                except Exception as error:  # one way that does not work leaves the others
                    row["error"] = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[:300]
                document["rows"].append(row)
                print(f"{text:34} {way:9} TF32 {tf32:3} {row.get('microseconds_per_step', float('nan')):10.2f} us a step, "
                      f"off by {row.get('worst_error', float('nan')):.1e} {row.get('error', '')}", flush=True)
                with open(options.output, "w", encoding="utf-8") as file:
                    file.write(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
