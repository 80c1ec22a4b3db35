// Copies to shared memory that are on their way while a thread works, in groups of which it awaits the oldest. A device
// that runs templates without a GPU replaces this file.
#pragma once

#include "heddle/kernels/common/memory.cuh"

namespace heddle {

/// Starts a copy of one value of 4 or 8 bytes to shared memory, as a part of the thread's present group.
template <class T>
__device__ __forceinline__ void start_grouped_copy(T* shared_to, const T* from) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "one access");
#if __CUDA_ARCH__ >= 800
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(shared_to));
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(address), "l"(from), "n"(sizeof(T)) : "memory");
#else
  *shared_to = *from;
#endif
}

/// The same of 16 bytes; both addresses are multiples of 16.
template <class T>
__device__ __forceinline__ void start_wide_grouped_copy(T* shared_to, const T* from) {
#if __CUDA_ARCH__ >= 800
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(shared_to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from) : "memory");
#else
  *reinterpret_cast<Pack<4>*>(shared_to) = *reinterpret_cast<const Pack<4>*>(from);
#endif
}

/// The same of `Width` floats (1 or 4), of which the first `count` (0 to Width) are copied, and the others are 0.
/// Nothing is read with a count of 0; else both addresses are multiples of 4 * Width bytes.
template <int Width>
__device__ __forceinline__ void start_filled_copy(float* shared_to, const float* from, int count) {
  static_assert(Width == 1 || Width == 4, "one access");
#if __CUDA_ARCH__ >= 800
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(shared_to));
  if constexpr (Width == 4) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(4 * count) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(address), "l"(from), "r"(4 * count) : "memory");
  }
#else
  Pack<Width> pack;
#pragma unroll
  for (int i = 0; i < Width; ++i) pack.value[i] = i < count ? from[i] : 0.0f;
  store<Width>(shared_to, pack);
#endif
}

/// Ends the present group, which may be empty.
__device__ __forceinline__ void end_group() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/// Waits until all of this thread's groups but the last `Later` have arrived; the thread then sees them.
template <int Later>
__device__ __forceinline__ void groups_arrived() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(Later) : "memory");
#endif
}

}  // namespace heddle
