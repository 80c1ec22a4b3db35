// What a GPU can do at best, measured on the one at hand.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "heddle/kernels/template_source.hpp"
#include "heddle/runtime/device/device.hpp"

namespace heddle::bench {

/// How the blocks of a grid find each other's packets.
struct Polling {
  std::int64_t replicas = 8;    ///< copies of every packet, so that fewer blocks read the same one
  std::int64_t first_look = 0;  ///< cycles after a block's own post: an earlier look would come too soon for some
};

/// One round in which everybody tells everybody a number, and all know the sum.
struct Exchange {
  std::string link;         ///< "block", "cluster", "grid": as the schemes of sonfin-train
  std::int64_t blocks = 1;  ///< of one warp each; 4 warps in the block
  double microseconds = 0.0;
  Polling polling = {};  ///< of a grid
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
/// Takes a few seconds. A round among blocks of a grid is that of the fastest polling found. Throws DeviceFailure.
[[nodiscard]] Limits measure_limits(Device& device);
/// Mean of `rounds`. Throws DeviceFailure, also if the blocks do not agree in the end.
[[nodiscard]] Exchange measure_exchange(Device& device, const std::string& link, std::int64_t blocks,
                                        std::int64_t rounds, const Polling& polling = {});

}  // namespace heddle::bench
