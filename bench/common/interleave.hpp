// Times of several configurations for one problem, taken in turn so that they can be compared.
#pragma once

#include <cstdint>
#include <vector>

#include "heddle/tuner/evaluator.hpp"

namespace heddle::bench {

/// What is timed: a configuration of an evaluator's family.
struct Contestant {
  Evaluator* evaluator;
  Configuration configuration;
};

/// Compiles all that is not compiled yet.
void compile(const std::vector<Contestant>& contestants, const Problem& problem);
/// Likewise, of one evaluator.
void compile(Evaluator& evaluator, const std::vector<Configuration>& configurations, const Problem& problem);

/// Microseconds per sample of each, `rounds` of them; empty where it failed, which is told on stderr. Each is run twice
/// in a turn and the second run counts, so that none finds the cache as another has left it: a captured graph of
/// thousands of launches displaces much. The evaluators are of one device.
[[nodiscard]] std::vector<std::vector<double>> interleave(const std::vector<Contestant>& contestants,
                                                          const Problem& problem, std::int64_t samples, int rounds);

/// Likewise, of one evaluator.
[[nodiscard]] std::vector<std::vector<double>> interleave(Evaluator& evaluator,
                                                          const std::vector<Configuration>& configurations,
                                                          const Problem& problem, std::int64_t samples, int rounds);

}  // namespace heddle::bench
