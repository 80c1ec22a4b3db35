// The baseline of whoever picks one mapping for everything: the configuration that is best on average.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "heddle/profiles/profile_store.hpp"
#include "heddle/tuner/evaluator.hpp"
#include "heddle/tuner/stop_condition.hpp"

namespace heddle::bench {

struct FixedMapping {
  std::optional<Configuration> configuration;  ///< nothing if there was no time for a single problem
  std::size_t valid = 0;                       ///< problems that allow it; elsewhere the default stands in
  std::size_t candidates = 0;                  ///< how many were compared
  std::size_t problems = 0;                    ///< and on how many problems
};

/// Compares the defaults, the winners of `store` and those that tied with them, at most `candidates`, those first that
/// count in the most problems; by the geometric mean of their times over the problems.
[[nodiscard]] FixedMapping best_fixed(Evaluator& evaluator, const ProfileStore& store,
                                      const std::vector<Problem>& problems, std::size_t candidates,
                                      const StopCondition& stop);

}  // namespace heddle::bench
