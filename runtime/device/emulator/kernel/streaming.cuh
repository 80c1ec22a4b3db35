// kernels/common/streaming.cuh for the emulator, which has no cache: the same interface.
#pragma once

#include "heddle/kernels/common/memory.cuh"

namespace heddle {

__device__ __forceinline__ unsigned load_once(const unsigned* from) { return *from; }

template <int Width>
__device__ __forceinline__ void store_once(float* to, const Pack<Width>& pack) {
  static_assert(Width == 1 || Width == 2 || Width == 4, "one access");
  store<Width>(to, pack);
}

}  // namespace heddle
