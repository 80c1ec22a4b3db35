// Votes of a warp, with PTX where the compiler takes several instructions for one. A device that runs templates without
// a GPU replaces this file.
#pragma once

#include "heddle/kernels/common/reduce.cuh"

namespace heddle {

/// Mask of the lanes whose `bits` are 0 if those of this lane are, or are not 0 if those of this lane are not. All 32
/// lanes of the warp have to call it.
__device__ __forceinline__ unsigned lanes_alike(unsigned bits) {
  unsigned lanes;
  asm volatile(
      "{\n\t"
      ".reg .pred some;\n\t"
      "setp.ne.u32 some, %1, 0;\n\t"
      "vote.sync.ballot.b32 %0, some, 0xffffffff;\n\t"
      "@!some not.b32 %0, %0;\n\t"
      "}"
      : "=r"(lanes)
      : "r"(bits));
  return lanes;
}

}  // namespace heddle
