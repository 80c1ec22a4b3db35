// Products of small matrices by a warp: the tensor cores' instruction for doubles and its PTX. A device that runs
// templates without a GPU replaces this file.
#pragma once

#include "heddle/kernels/common/reduce.cuh"

namespace heddle {

/// C += A B for C[8][8], A[8][4] and B[4][8] in float64, spread over the lanes of a warp as PTX ISA, "mma.m8n8k4 with
/// .f64", says: of lane l, `a` is A[l / 4][l % 4], `b` is B[l % 4][l / 4], and `c` is C[l / 4][2 (l % 4)] and the
/// element after it. All lanes take part.
__device__ __forceinline__ void multiply_add_8x8x4(double (&c)[2], double a, double b) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
      : "+d"(c[0]), "+d"(c[1])
      : "d"(a), "d"(b));
#else
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const double left = __shfl_sync(kAllLanes, a, lane / 4 * 4 + k);
#pragma unroll
    for (int i = 0; i < 2; ++i) c[i] += left * __shfl_sync(kAllLanes, b, (2 * (lane % 4) + i) * 4 + k);
  }
#endif
}

}  // namespace heddle
