// Memory that is read or written once: it is the first to leave the cache, where others' memory stays. A device that
// runs templates without a GPU replaces this file.
#pragma once

#include "heddle/kernels/common/memory.cuh"

namespace heddle {

/// Not before wait_for_previous_launch(), though the compiler might move an ordinary load there: CUDA's call is
/// volatile.
__device__ __forceinline__ unsigned load_once(const unsigned* from) { return __ldcs(from); }

/// `to` is a multiple of 4 * Width bytes.
template <int Width>
__device__ __forceinline__ void store_once(float* to, const Pack<Width>& pack) {
  static_assert(Width == 1 || Width == 2 || Width == 4, "one access");
  if constexpr (Width == 1) {
    __stcs(to, pack.value[0]);
  } else if constexpr (Width == 2) {
    __stcs(reinterpret_cast<float2*>(to), make_float2(pack.value[0], pack.value[1]));
  } else {
    __stcs(reinterpret_cast<float4*>(to), make_float4(pack.value[0], pack.value[1], pack.value[2], pack.value[3]));
  }
}

}  // namespace heddle
