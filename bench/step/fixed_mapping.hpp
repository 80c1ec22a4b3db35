// The baseline of one mapping for everything: the configuration that is best on average.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "heddle/tuner/evaluator.hpp"
#include "heddle/tuner/stop_condition.hpp"

namespace heddle::bench {

struct FixedMapping {
  std::optional<Configuration> configuration;  ///< nothing if none is allowed everywhere, or there was no time
  std::size_t candidates = 0;                  ///< how many were compared
  std::size_t problems = 0;                    ///< and on how many problems the best of them
};

/// The best of `candidates` drawn from those that all of `problems`, smallest first, allow, as many of each scheme; by
/// the geometric mean of their times, first on three problems, the best of these then on all.
[[nodiscard]] FixedMapping best_fixed(Evaluator& evaluator, const std::vector<Problem>& problems,
                                      std::size_t candidates, const StopCondition& stop);

}  // namespace heddle::bench
