// kernels/common/votes.cuh for the emulator: the same interface.
#pragma once

#include "heddle/kernels/common/reduce.cuh"

namespace heddle {

__device__ __forceinline__ unsigned lanes_alike(unsigned bits) {
  const unsigned lanes = __ballot_sync(kAllLanes, static_cast<int>(bits != 0));
  return bits != 0 ? lanes : ~lanes;
}

}  // namespace heddle
