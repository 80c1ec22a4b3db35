#!/usr/bin/env python3
"""The same iterations with PyTorch on a GPU: least squares by torch.linalg.lstsq, and by normal equations and Cholesky, whose
iteration is also captured in a CUDA graph, as it is and as torch.compile makes it (mode "max-autotune-no-cudagraphs"). Each
is timed three times; the median and all times are kept. TF32 is off, and the file says so.

Usage: tsk_pytorch.py POINTS,POINTS,... [SECONDS] > tsk_pytorch.json; rows are those of `truck_data POINTS`, read from
truck-POINTS.csv. After so many seconds nothing more is compiled, which takes longest; 1e9 if they are not given.
"""
import json
import statistics
import sys
import time

import torch


REPETITIONS, ITERATIONS = 3, 100


def iteration(x, y, centres, widths, solve, step=0.02):
    """The next centres and widths, and the error of the present ones."""
    c = centres.detach().requires_grad_()
    w = widths.detach().requires_grad_()
    log_activation = -0.5 * (((x[:, None, :] - c[None]) / w[None]) ** 2).sum(2)
    phi = torch.softmax(log_activation, 1)
    with torch.no_grad():
        theta = solve(phi, y)
    error = ((phi @ theta - y) ** 2).sum(1).mean()
    gc, gw = torch.autograd.grad(error, (c, w))
    norm = torch.sqrt((gc**2).sum() + (gw**2).sum())
    return c.detach() - step * gc / norm, torch.clamp(w.detach() - step * gw / norm, min=0.01), error.detach()


def eager(x, y, centres, widths, solve, count):
    error = None
    for _ in range(count):
        centres, widths, error = iteration(x, y, centres, widths, solve)
    return error


def captured(x, y, centres, widths, solve, function=iteration):
    """A function that does so many iterations as replays of one captured graph, from the beginning."""
    c, w = centres.clone(), widths.clone()

    def once():
        following = function(x, y, c, w, solve)
        c.copy_(following[0])
        w.copy_(following[1])
        return following[2]

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            once()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        error = once()

    def run(count):
        c.copy_(centres)
        w.copy_(widths)
        for _ in range(count):
            graph.replay()
        return error

    return run


def timed(run, name, rows):
    run(5)
    seconds = []
    for _ in range(REPETITIONS):
        torch.cuda.synchronize()
        start = time.perf_counter()
        error = run(ITERATIONS)
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    middle = statistics.median(seconds)
    return {"name": name, "rows": rows, "milliseconds": 1e3 * middle,
            "microseconds_per_iteration": 1e6 * middle / ITERATIONS,
            "repetitions": [1e6 * each / ITERATIONS for each in seconds], "error": float(error)}


def lstsq(phi, y):
    return torch.linalg.lstsq(phi, y).solution


def cholesky(phi, y):
    p = phi.double()
    factor = torch.linalg.cholesky_ex(p.T @ p).L
    return torch.cholesky_solve(p.T @ y.double(), factor).float()


def main():
    torch.backends.cuda.matmul.allow_tf32 = False
    compile_until = time.monotonic() + float(sys.argv[2] if len(sys.argv) > 2 else 1e9)
    results = []
    for points in (int(p) for p in sys.argv[1].split(",")):
        with open(f"truck-{points}.csv", encoding="utf-8") as file:
            next(file)
            rows = torch.tensor([[float(v) for v in line.split(",")] for line in file], device="cuda")
        x = (rows[:, :2] - rows[:, :2].amin(0)) / (rows[:, :2].amax(0) - rows[:, :2].amin(0))
        y = rows[:, 2:]
        y = (y - y.mean(0)) / y.std(0, unbiased=False)
        grid = torch.cartesian_prod(torch.linspace(0, 1, 5), torch.linspace(0, 1, 7)).cuda()
        widths = (0.42466 * torch.tensor([[1 / 4, 1 / 6]])).repeat(35, 1).cuda()

        def add(name, set_up):
            try:
                results.append(timed(set_up(), f"PyTorch {name}", points * points))
            except Exception as error:  # what cannot be captured or compiled leaves the other ways as they are
                print(f"{name}: {str(error).strip().splitlines()[0]}", file=sys.stderr)

        for name, solve in (("lstsq", lstsq), ("cholesky", cholesky)):
            add(name, lambda solve=solve: lambda count: eager(x, y, grid, widths, solve, count))
        add("cholesky captured", lambda: captured(x, y, grid, widths, cholesky))
        if time.monotonic() < compile_until:
            add("cholesky compiled", lambda: captured(x, y, grid, widths, cholesky, torch.compile(
                iteration, mode="max-autotune-no-cudagraphs", dynamic=False)))
    print(json.dumps({"torch": torch.__version__, "device": torch.cuda.get_device_name(0),
                      "tf32": torch.backends.cuda.matmul.allow_tf32, "rows": results}, indent=1))


if __name__ == "__main__":
    main()
