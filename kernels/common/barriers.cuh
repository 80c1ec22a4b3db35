// Barriers of some warps of a block, and an early half of that of a cluster (exchange.cuh has the others). A device
// that runs templates without a GPU replaces this file.
#pragma once

#include "heddle/kernels/common/exchange.cuh"

namespace heddle {

/// A barrier of `Threads` threads of a block, whole warps. `Number`, from 1 to 15, tells it from those of other warps.
template <int Number, int Threads>
__device__ __forceinline__ void partial_barrier() {
  static_assert(Number > 0 && Number < 16 && Threads % 32 == 0, "0 is __syncthreads()");
  asm volatile("barrier.sync.aligned %0, %1;" ::"n"(Number), "n"(Threads) : "memory");
}

#if __CUDA_ARCH__ >= 900

/// cluster_arrive() of a thread that only has to say that it has loaded what it needs from other blocks. It goes behind
/// a barrier of the block, or of those of its warps that have loaded, and does not wait until stores are seen.
__device__ __forceinline__ void cluster_arrive_after_loads() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}

#endif

}  // namespace heddle
