// One factory per strategy, for the registry in strategy.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "heddle/tuner/strategy.hpp"

namespace heddle {

std::unique_ptr<Strategy> make_portfolio(const std::vector<Configuration>& configurations, std::uint64_t seed);
std::unique_ptr<Strategy> make_model_based(const std::vector<Configuration>& configurations, std::uint64_t seed);
std::unique_ptr<Strategy> make_local_search(const std::vector<Configuration>& configurations, std::uint64_t seed);
std::unique_ptr<Strategy> make_simulated_annealing(const std::vector<Configuration>& configurations,
                                                   std::uint64_t seed);
std::unique_ptr<Strategy> make_genetic(const std::vector<Configuration>& configurations, std::uint64_t seed);
std::unique_ptr<Strategy> make_exhaustive(const std::vector<Configuration>& configurations, std::uint64_t seed);
std::unique_ptr<Strategy> make_random(const std::vector<Configuration>& configurations, std::uint64_t seed);

}  // namespace heddle
