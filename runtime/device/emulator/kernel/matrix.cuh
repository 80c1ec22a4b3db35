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

__device__ __forceinline__ void multiply_add_16x8x4(double (&upper)[2], double (&lower)[2], double a_upper,
                                                    double a_lower, double b) {
  multiply_add_8x8x4(upper, a_upper, b);
  multiply_add_8x8x4(lower, a_lower, b);
}

__device__ __forceinline__ void multiply_add_16x8x8(float (&c)[4], const float (&a)[4], const float (&b)[2]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, row = lane / 4 * 4, column = 2 * (lane % 4);
  const auto leading = [](float value) { return __uint_as_float(__float_as_uint(value) & 0xffffe000u); };
  for (int k = 0; k < 8; ++k) {
    const float upper = leading(__shfl_sync(kAllLanes, a[k / 4 * 2], row + k % 4));
    const float lower = leading(__shfl_sync(kAllLanes, a[k / 4 * 2 + 1], row + k % 4));
    for (int i = 0; i < 2; ++i) {
      const float right = leading(__shfl_sync(kAllLanes, b[k / 4], (column + i) * 4 + k % 4));
      c[i] += upper * right;
      c[2 + i] += lower * right;
    }
  }
}

}  // namespace heddle
