"""What a call of heddle.Kernel takes beside one of CuPy's RawKernel, by turns: the same kernel, arrays and stream.

usage: kernel_call.py [CALLS] [TURNS]     the packages heddle and cupy are installed; needs a GPU

A turn submits CALLS launches of 1024 elements and then waits; between the clocks nothing waits for the GPU unless its queue
is full, which the turns of few calls avoid. The bound is 3 us more than RawKernel: the exit code is 1 beyond it.
"""

import statistics
import sys
import time

import numpy as np

import heddle

SOURCE = """
template <int BlockSize>
__global__ void scale(float a, const float* x, float* y, int n) {
  const int i = static_cast<int>(blockIdx.x) * BlockSize + static_cast<int>(threadIdx.x);
  if (i < n) y[i] = a * x[i];
}
"""
DESCRIPTION = {
    "name": "bench/scale",
    "source": "scale.cu",
    "kernel": "scale<{block_size}>",
    "axes": ["n"],
    "parameters": [{"name": "block_size", "values": [256]}],
    "grid": "ceil_div(n, block_size)",
    "block": "block_size",
    "arguments": [
        {"name": "a", "type": "float", "value": 1},
        {"name": "x", "type": "float", "elements": "n"},
        {"name": "y", "type": "float", "elements": "n", "role": "output"},
        {"name": "n", "type": "int32", "value": "n"},
    ],
}
ELEMENTS = 1024
MOST_MORE = 3.0  # microseconds


def microseconds(call, wait, calls):
    """Of one of `calls` calls; the launches themselves are waited for outside the clock."""
    wait()
    begun = time.perf_counter()
    for _ in range(calls):
        call()
    took = time.perf_counter() - begun
    wait()
    return 1e6 * took / calls


def main():
    import cupy

    calls, turns = (int(word) for word in (sys.argv[1:] + ["200", "200"][len(sys.argv) - 1 :])[:2])
    x, y = cupy.arange(ELEMENTS, dtype=np.float32), cupy.zeros(ELEMENTS, np.float32)
    kernel = heddle.Kernel(DESCRIPTION, sources={"scale.cu": SOURCE}, wait=True)
    text = SOURCE.replace("template <int BlockSize>", 'extern "C"').replace("BlockSize", "256")
    raw = cupy.RawKernel(text, "scale")
    factor, count = np.float32(2), np.int32(ELEMENTS)
    grid, block = (ELEMENTS // 256,), (256,)
    ways = {
        "heddle.Kernel": lambda: kernel(factor, x, y, count),
        "RawKernel": lambda: raw(grid, block, (factor, x, y, count)),
    }
    try:
        import torch

        a, b = torch.arange(ELEMENTS, dtype=torch.float32, device="cuda"), torch.zeros(ELEMENTS, device="cuda")
        ways["heddle.Kernel, PyTorch"] = lambda: kernel(factor, a, b, count)
    except ImportError:
        pass
    stream = cupy.cuda.get_current_stream()
    wait = cupy.cuda.Device().synchronize
    for name, call in ways.items():
        y[:] = 0
        call()
        wait()
        if "PyTorch" not in name and not bool((y == 2 * x).all()):
            sys.exit(f"{name}: wrong result")
    times = {name: [] for name in ways}
    for _ in range(turns):
        for name, call in ways.items():
            times[name].append(microseconds(call, wait, calls))
    medians = {name: statistics.median(of) for name, of in times.items()}
    print(f"{kernel.device}, stream {stream.ptr}, {turns} turns of {calls} calls, microseconds a call (median, quartiles)")
    for name, of in times.items():
        low, _, high = statistics.quantiles(of, n=4)
        print(f"{name:24} {medians[name]:6.2f}  {low:6.2f} to {high:6.2f}")
    more = medians["heddle.Kernel"] - medians["RawKernel"]
    print(f"heddle.Kernel takes {more:.2f} us more than RawKernel, bound {MOST_MORE}")
    return 0 if more <= MOST_MORE else 1


if __name__ == "__main__":
    sys.exit(main())
