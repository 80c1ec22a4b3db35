#!/usr/bin/env python3
"""Training of multilayer perceptrons in PyTorch: what one gets without writing a kernel.

    bench/mlp/mlp_pytorch.py --cells 784-25-15-10x10000:adaptive,14-10-1x32561:plain,784-128-10x65536:adam:64 \\
        --output mlp_pytorch.json [--device cuda] [--limit 200] [--tf32 off,on] [--ways captured,eager,compiled]

A cell is LAYERSxROWS:RULE[:BATCH]: RULE is plain (sum of the gradients, Gurgel), adaptive (a step for every weight, momentum
and robust training, Toman) or adam; without BATCH a step takes all rows. Hidden layers and outputs are logistic, the error
is half the squared one; rows and targets are random. The formulas are those of docs/design.md, "Perceptrons"; the backward
pass is written out, so that autograd costs nothing, and all weights lie in one array, so that a rule takes few operations.
`eager` submits the operations one by one; `captured` replays a CUDA graph of 16 steps; `compiled` is torch.compile, and with it
comes `compiled-captured`, a graph of 16 compiled steps. Each is compared with float64 over 3 steps first. Microseconds per step,
medians of five rounds; a slow cell has fewer steps in a round. The ways in their order, and for each the cells in theirs, so that
what does not fit into --limit seconds is the last. The file is written after every cell; a run that finds it there goes on with
what it lacks.
"""
import argparse
import json
import math
import pathlib
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

    def step(self, x, d):
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

    def batches(self, steps):
        """Rows and targets of each step. They are cut outside of it: a compiled step is compiled once for all."""
        per_epoch = max(self.count // self.batch, 1)
        for start in (i % per_epoch * self.batch for i in range(steps)):
            yield self.x[start:start + self.batch], self.d[start:start + self.batch]


def make(cell, device, dtype):
    return Perceptron(*cell, device, dtype).prepare()


def learn(network, step, steps):
    for x, d in network.batches(steps):
        step(x, d)


class Exact:
    """Weights before and after three steps in float64; once for all ways of a cell."""

    def __init__(self, cell):
        exact = make(cell, "cpu", torch.float64)
        self.before = exact.w.clone()
        learn(exact, exact.step, 3)
        self.after = exact.w

    def worst_error(self, network):
        """Norm of the difference of the change from this one, relative to the change."""
        return float((network.w.cpu().double() - self.after).norm() / (self.after - self.before).norm())


class Captured:
    """Replays of a CUDA graph of 16 steps."""

    def __init__(self, network, step):
        self.network = network
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            learn(network, step, 3)
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            learn(network, step, CAPTURED_STEPS)

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


def measure(cell, way, device, exact):
    """(way, error, microseconds of a step) of `way`, and of what comes with it."""
    torch.compiler.reset()  # otherwise cells would count as one function that is compiled too often
    network = make(cell, device, torch.float32)
    step = torch.compile(network.step, dynamic=False) if way == "compiled" else network.step
    learn(network, step, 3)
    error = exact.worst_error(network)
    if way != "captured":
        yield way, error, timed(lambda count: learn(network, step, count), 1, device)
    if way != "eager" and device == "cuda":
        name = "captured" if way == "captured" else "compiled-captured"
        yield name, error, timed(Captured(network, step).run, CAPTURED_STEPS, device)


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
    parser.add_argument("--ways", default="captured,eager,compiled")
    options = parser.parse_args()
    end = time.monotonic() + options.limit
    file = pathlib.Path(options.output)
    document = json.loads(file.read_text()) if file.exists() else {"rows": []}
    document.update({"torch": torch.__version__, "cuda": torch.version.cuda,
                     "device": torch.cuda.get_device_name(0) if options.device == "cuda" else "cpu"})
    done = {(row["cell"], row["way"], row["tf32"]) for row in document["rows"] if "error" not in row}

    def keep(row):
        document["rows"] = [each for each in document["rows"] if any(each[k] != row[k] for k in ("cell", "way", "tf32"))] + [row]
        print(f"{row['cell']:34} {row['way']:17} TF32 {row['tf32']:3} {row.get('microseconds_per_step', math.nan):10.2f} us a step, "
              f"off by {row.get('worst_error', math.nan):.1e} {row.get('error', '')}", flush=True)
        file.write_text(json.dumps(document, indent=1) + "\n")

    exact = {}
    for way in options.ways.split(","):
        last = "compiled-captured" if way == "compiled" and options.device == "cuda" else way
        for text in options.cells.split(","):
            for tf32 in options.tf32.split(","):
                if (text, last, tf32) in done:
                    continue
                if time.monotonic() > end:
                    return
                cell = parse(text)
                torch.backends.cuda.matmul.allow_tf32 = tf32 == "on"
                steps = max(cell[1] // (cell[3] or cell[1]), 1)
                row = {"cell": text, "way": way, "tf32": tf32}
                try:
                    if text not in exact:
                        exact[text] = Exact(cell)
                    for name, error, time_of_step in measure(cell, way, options.device, exact[text]):
                        ok = math.isfinite(error) and error < (0.05 if tf32 == "on" else 2e-3)
                        keep({"cell": text, "way": name, "tf32": tf32, "worst_error": error, "ok": ok,
                              "microseconds_per_step": time_of_step, "microseconds_per_epoch": steps * time_of_step})
                        row["way"] = last
                except Exception as error:  # one way that does not work leaves the others
                    word = str(error).splitlines()[0] if str(error) else ""
                    keep(row | {"error": f"{type(error).__name__}: {word}"[:300]})


if __name__ == "__main__":
    main()
