// Tools of the CPU mappings.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/kernels/plan.hpp"
#include "heddle/kernels/search_space.hpp"
#include "heddle/kernels/sonfin/cpu/sizes.hpp"

namespace heddle::sonfin::cpu {

/// Floats in the widest vector of an instruction set.
inline std::int64_t widest(std::string_view architecture) {
  return architecture == "x86-64-v4" ? 16 : architecture == "x86-64-v3" ? 8 : 4;
}

inline Parameter block_size(const DeviceIdentity& device) {
  std::vector<Value> widths;
  for (std::int64_t width = widest(device.architecture); width >= 4; width /= 2) widths.emplace_back(width);
  return {.name = "block_size", .values = std::move(widths), .meaning = "floats in a vector", .active = {}};
}

/// All cores, then the powers of two below.
inline Parameter threads(const DeviceIdentity& device) {
  const std::int64_t cores = std::max<std::int64_t>(device.units, 1);
  std::vector<Value> counts{cores};
  for (std::int64_t count = 1 << 16; count >= 1; count /= 2) {
    if (count < cores) counts.emplace_back(count);
  }
  return {.name = "threads", .values = std::move(counts), .meaning = "threads that share the work", .active = {}};
}

inline std::int64_t padded(std::int64_t value, std::int64_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace heddle::sonfin::cpu
