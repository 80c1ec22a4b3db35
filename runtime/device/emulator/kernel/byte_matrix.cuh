// kernels/common/byte_matrix.cuh for the emulator: the same interface.
#pragma once

#include "heddle/kernels/common/reduce.cuh"

namespace heddle {

__device__ __forceinline__ void multiply_add_16x8x32(int (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, row = lane / 4 * 4, column = 2 * (lane % 4);
  const auto byte = [](unsigned word, int i) { return static_cast<int>(word >> (8 * i) & 0xffu); };
  for (int four = 0; four < 8; ++four) {
    const unsigned upper = __shfl_sync(kAllLanes, a[four / 4 * 2], row + four % 4);
    const unsigned lower = __shfl_sync(kAllLanes, a[four / 4 * 2 + 1], row + four % 4);
    for (int i = 0; i < 2; ++i) {
      const unsigned right = __shfl_sync(kAllLanes, b[four / 4], (column + i) * 4 + four % 4);
      for (int k = 0; k < 4; ++k) {
        const int factor = (byte(right, k) ^ 0x80) - 0x80;
        c[i] += byte(upper, k) * factor;
        c[2 + i] += byte(lower, k) * factor;
      }
    }
  }
}

__device__ __forceinline__ void transpose_bytes(unsigned (&words)[4]) {
  const unsigned before[4] = {words[0], words[1], words[2], words[3]};
  for (int i = 0; i < 4; ++i) {
    words[i] = 0;
    for (int j = 0; j < 4; ++j) words[i] |= (before[j] >> (8 * i) & 0xffu) << (8 * j);
  }
}

}  // namespace heddle
