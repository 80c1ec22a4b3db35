// What every CUDA device of today has in common, for host code. Templates have numbers of their own, because a change
// of a header that they include makes stored profiles stale; tests/kernels/cuda_limits_test.cpp compares the two.
#pragma once

#include <algorithm>
#include <cstdint>

namespace heddle::cuda {

inline constexpr std::int64_t kWarp = 32;  ///< lanes
inline constexpr std::int64_t kRegistersOfThread = 255;
inline constexpr std::int64_t kRegistersOfMultiprocessor = 65536;

/// Registers that a thread can have in a block of so many threads.
[[nodiscard]] constexpr std::int64_t registers_of_thread(std::int64_t threads) {
  return std::min(kRegistersOfThread, kRegistersOfMultiprocessor / threads);
}

}  // namespace heddle::cuda
