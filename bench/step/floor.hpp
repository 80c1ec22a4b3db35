// What the limits of a GPU mean for a step of training: the floor that no mapping gets below.
#pragma once

#include <cstdint>
#include <string>

#include "heddle/bench/step/limits.hpp"
#include "heddle/kernels/kernel_family.hpp"

namespace heddle::bench {

struct Floor {
  double microseconds = 0.0;  ///< per sample
  std::string link;           ///< of the cheapest way: as Exchange, or "memory" if parameters do not stay on chip
  std::int64_t blocks = 0;    ///< that share the work
  double arithmetic = 0.0;    ///< microseconds of them
  double exchange = 0.0;
};

/// The fastest of all ways to hold the parameters: on one multiprocessor, on a cluster, on a grid, each with the
/// arithmetic of so many multiprocessors and one round of exchange, wherever registers and shared memory can hold
/// 8 bytes a task and 4 a consequent; or in memory, where every sample moves them.
[[nodiscard]] Floor training_floor(const Limits& limits, const KernelFamily& family, const DeviceIdentity& device,
                                   const Problem& problem);
/// Rows and outputs through memory, and arithmetic.
[[nodiscard]] Floor batch_floor(const Limits& limits, const KernelFamily& family, const Problem& problem);

}  // namespace heddle::bench
