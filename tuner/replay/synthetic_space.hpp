// Search spaces made from a seed, to compare strategies without a device and without measurements of anybody's card.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "heddle/tuner/replay/recorded_space.hpp"

namespace heddle {

/// Where the fast configurations lie.
enum class Landscape {
  broad,      ///< one way to work; fast configurations are many and alike
  hidden,     ///< two ways: one is nearly as fast in many configurations, the fastest ones are few, at the other's edge
  flat,       ///< the same, and those of the first way are as fast as each other, the other way is slow near its best
  scattered,  ///< four ways, each fast in a few configurations only and slow in most
};

struct LandscapeEntry {
  Landscape landscape = Landscape::broad;
  std::string_view name;
};
[[nodiscard]] const std::vector<LandscapeEntry>& landscapes();

/// Some thousand configurations of block and tile sizes and switches. Constraints tie them to each other (threads per
/// block, sizes that divide each other, switches that need another), and those that need too much local memory fail.
/// The logarithm of a time is a sum over single parameters, threads per block, work per thread and 1 % of noise, with
/// other coefficients for every value of the switches that choose how the work is done.
[[nodiscard]] RecordedSpace synthetic_space(Landscape landscape, std::uint64_t seed);

}  // namespace heddle
