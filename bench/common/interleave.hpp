// Times of several configurations for one problem, taken in turn so that they can be compared.
#pragma once

#include <cstdint>
#include <vector>

#include "heddle/tuner/evaluator.hpp"

namespace heddle::bench {

/// Compiles all that is not compiled yet.
void compile(Evaluator& evaluator, const std::vector<Configuration>& configurations, const Problem& problem);

/// Microseconds per sample of each configuration, `rounds` of them; empty where it failed, which is told on stderr.
[[nodiscard]] std::vector<std::vector<double>> interleave(Evaluator& evaluator,
                                                          const std::vector<Configuration>& configurations,
                                                          const Problem& problem, std::int64_t samples, int rounds);

}  // namespace heddle::bench
