// kernels/common/matrix.cuh for the emulator: the same interface.
#pragma once

#include "heddle/kernels/common/reduce.cuh"

namespace heddle {

__device__ __forceinline__ void multiply_add_8x8x4(double (&c)[2], double a, double b) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  for (int k = 0; k < 4; ++k) {
    const double left = __shfl_sync(kAllLanes, a, lane / 4 * 4 + k);
    for (int i = 0; i < 2; ++i) c[i] += left * __shfl_sync(kAllLanes, b, (2 * (lane % 4) + i) * 4 + k);
  }
}

}  // namespace heddle
