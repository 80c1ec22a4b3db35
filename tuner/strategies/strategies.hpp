// One factory per strategy, for the registry in strategy.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "heddle/tuner/strategy.hpp"

namespace heddle {

std::unique_ptr<Strategy> make_portfolio(const SearchTask& task);
std::unique_ptr<Strategy> make_model_based(const SearchTask& task);
std::unique_ptr<Strategy> make_local_search(const SearchTask& task);
std::unique_ptr<Strategy> make_simulated_annealing(const SearchTask& task);
std::unique_ptr<Strategy> make_genetic(const SearchTask& task);
std::unique_ptr<Strategy> make_exhaustive(const SearchTask& task);
std::unique_ptr<Strategy> make_random(const SearchTask& task);

}  // namespace heddle
