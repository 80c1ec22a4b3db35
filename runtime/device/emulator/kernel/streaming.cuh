// kernels/common/streaming.cuh for the emulator, which has no cache: the same interface.
#pragma once

#include "heddle/kernels/common/memory.cuh"

namespace heddle {

__device__ __forceinline__ unsigned load_once(const unsigned* from) { return *from; }

template <int Width>
__device__ __forceinline__ void store_once(float* to, const Pack<Width>& pack) {
  store<Width>(to, pack);
}

}  // namespace heddle
