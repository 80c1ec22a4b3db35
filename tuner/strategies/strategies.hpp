// One factory per strategy, for the registry in strategy.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "heddle/tuner/strategy.hpp"

namespace heddle {

std::unique_ptr<Strategy> make_exhaustive(const std::vector<Configuration>& configurations, std::uint64_t seed);
std::unique_ptr<Strategy> make_random(const std::vector<Configuration>& configurations, std::uint64_t seed);

}  // namespace heddle
