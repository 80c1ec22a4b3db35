// Memory on its way to the L2 cache, where the compiler has no call for it. A device that runs templates without a GPU
// replaces this file.
#pragma once

namespace heddle {

/// One thread starts to bring `bytes` of global memory into the L2 cache. Nobody waits for it. Address and size are
/// multiples of 16. Does nothing on a GPU that has no such instruction.
__device__ __forceinline__ void bring_range_into_cache(const void* from, int bytes) {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(__cvta_generic_to_global(from)), "r"(bytes));
#endif
}

}  // namespace heddle
