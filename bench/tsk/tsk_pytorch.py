#!/usr/bin/env python3
"""The same iterations with PyTorch on a GPU: least squares by torch.linalg.lstsq, and by normal equations and Cholesky.

Usage: tsk_pytorch.py POINTS,POINTS,... > tsk_pytorch.json; rows are those of `truck_data POINTS`, read from truck-POINTS.csv.
"""
import json
import sys
import time

import torch


def iterate(x, y, centres, log_step, widths, solve, count):
    step = log_step
    error = None
    for _ in range(count):
        c = centres.detach().requires_grad_()
        w = widths.detach().requires_grad_()
        log_activation = -0.5 * (((x[:, None, :] - c[None]) / w[None]) ** 2).sum(2)
        phi = torch.softmax(log_activation, 1)
        with torch.no_grad():
            theta = solve(phi, y)
        error = ((phi @ theta - y) ** 2).sum(1).mean()
        gc, gw = torch.autograd.grad(error, (c, w))
        norm = torch.sqrt((gc**2).sum() + (gw**2).sum())
        centres = c.detach() - step * gc / norm
        widths = torch.clamp(w.detach() - step * gw / norm, min=0.01)
    return error


def lstsq(phi, y):
    return torch.linalg.lstsq(phi, y).solution


def cholesky(phi, y):
    p = phi.double()
    factor = torch.linalg.cholesky_ex(p.T @ p).L
    return torch.cholesky_solve(p.T @ y.double(), factor).float()


def main():
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
        for name, solve in (("lstsq", lstsq), ("cholesky", cholesky)):
            iterate(x, y, grid, 0.02, widths, solve, 5)
            torch.cuda.synchronize()
            start = time.perf_counter()
            error = iterate(x, y, grid, 0.02, widths, solve, 100)
            torch.cuda.synchronize()
            seconds = time.perf_counter() - start
            results.append({"name": f"PyTorch {name}", "rows": points * points, "milliseconds": 1e3 * seconds,
                            "microseconds_per_iteration": 1e4 * seconds, "error": float(error)})
    print(json.dumps({"torch": torch.__version__, "device": torch.cuda.get_device_name(0), "rows": results}, indent=1))


if __name__ == "__main__":
    main()
