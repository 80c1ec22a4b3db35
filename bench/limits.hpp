// What a GPU can do at best, measured on the one at hand, and what follows for a step of training: the floor that no
// mapping gets below.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "heddle/kernels/kernel_family.hpp"
#include "heddle/kernels/template_source.hpp"
#include "heddle/runtime/device/device.hpp"

namespace heddle::bench {

/// One round in which everybody tells everybody a number, and all know the sum.
struct Exchange {
  std::string link;         ///< "block", "cluster", "grid": as the schemes of sonfin-train
  std::int64_t blocks = 1;  ///< of one warp each; 4 warps in the block
  double microseconds = 0.0;
};

struct Limits {
  double operations_per_microsecond = 0.0;  ///< float32 of all multiprocessors; a multiply-add counts as two
  double cache_bytes_per_microsecond = 0.0;
  double memory_bytes_per_microsecond = 0.0;
  double launch_microseconds = 0.0;  ///< of an empty kernel among many, launched one by one
  double node_microseconds = 0.0;    ///< of one captured in a graph
  std::vector<Exchange> exchanges;
};

[[nodiscard]] const TemplateSource& limits_source();
/// Every kernel of limits_source() that runs on `device`, as C++ expressions.
[[nodiscard]] Kernels limits_kernels(const DeviceIdentity& device);
/// Takes about a second. Throws DeviceFailure.
[[nodiscard]] Limits measure_limits(Device& device);
/// Mean of `rounds`. Throws DeviceFailure, also if the blocks do not agree in the end.
[[nodiscard]] Exchange measure_exchange(Device& device, const std::string& link, std::int64_t blocks,
                                        std::int64_t rounds);

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
