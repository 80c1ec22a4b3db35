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

/// C += A B for C[16][8], A[16][4] and B[4][8] in float64: the same for two halves of C and A, which have the same B.
/// PTX ISA, "mma.m16n8k4 with .f64".
__device__ __forceinline__ void multiply_add_16x8x4(double (&upper)[2], double (&lower)[2], double a_upper,
                                                    double a_lower, double b) {
#if __CUDA_ARCH__ >= 900
  asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
      : "+d"(upper[0]), "+d"(upper[1]), "+d"(lower[0]), "+d"(lower[1])
      : "d"(a_upper), "d"(a_lower), "d"(b));
#else
  multiply_add_8x8x4(upper, a_upper, b);
  multiply_add_8x8x4(lower, a_lower, b);
#endif
}

/// C += A B for C[16][8], A[16][8] and B[8][8], float32 sums of products of the leading 11 bits of the factors (TF32),
/// spread over the lanes of a warp as PTX ISA, "mma.m16n8k8 with .tf32", says: with g = l / 4 and t = l % 4 of lane l,
/// `a` is A[g][t], A[g + 8][t], A[g][t + 4], A[g + 8][t + 4], `b` is B[t][g], B[t + 4][g], and `c` is C[g][2 t],
/// C[g][2 t + 1], C[g + 8][2 t], C[g + 8][2 t + 1]. All lanes take part.
__device__ __forceinline__ void multiply_add_16x8x8(float (&c)[4], const float (&a)[4], const float (&b)[2]) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])), "r"(__float_as_uint(a[3])),
        "r"(__float_as_uint(b[0])), "r"(__float_as_uint(b[1])));
#else
  const int lane = static_cast<int>(threadIdx.x) % kWarp, row = lane / 4 * 4, column = 2 * (lane % 4);
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    const float upper = __shfl_sync(kAllLanes, a[k / 4 * 2], row + k % 4);
    const float lower = __shfl_sync(kAllLanes, a[k / 4 * 2 + 1], row + k % 4);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float right = __shfl_sync(kAllLanes, b[k / 4], (column + i) * 4 + k % 4);
      c[i] += upper * right;
      c[2 + i] += lower * right;
    }
  }
#endif
}

}  // namespace heddle
