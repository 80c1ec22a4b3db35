// Votes of a warp, with PTX where the compiler takes several instructions for one. A device that runs templates without
// a GPU replaces this file.
#pragma once

#include "heddle/kernels/common/reduce.cuh"

namespace heddle {

/// The lanes of the warp of which the same is true as of this one: of which `bits` are, or are not, 0. All lanes call
/// it.
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
