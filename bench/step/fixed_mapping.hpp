// The baseline of one mapping for everything: the configuration that is best on average.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "heddle/tuner/evaluator.hpp"
#include "heddle/tuner/stop_condition.hpp"

namespace heddle::bench {

struct FixedMapping {
  std::optional<Configuration> configuration;  ///< nothing if none is allowed everywhere, or there was no time
  std::size_t allowed = 0;                     ///< how many configurations all problems allow
  std::size_t candidates = 0;                  ///< how many of them were tried
  std::size_t problems = 0;                    ///< and on how many problems the best of them
};

/// Searches all configurations that all of `problems`, smallest first, allow, for the lowest geometric mean of their
/// times: with heddle's own default strategy and `seed`, on a few of the problems, until `searching` ends or nothing is
/// left; the best of those then on all problems, until `stop`.
[[nodiscard]] FixedMapping best_fixed(Evaluator& evaluator, const std::vector<Problem>& problems, std::uint64_t seed,
                                      const StopCondition& searching, const StopCondition& stop);

}  // namespace heddle::bench
