// The baseline of one mapping for everything: the configuration that is best on average.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "heddle/tuner/evaluator.hpp"
#include "heddle/tuner/stop_condition.hpp"
#include "heddle/tuner/transfer.hpp"

namespace heddle::bench {

struct FixedMapping {
  std::optional<Configuration> configuration;  ///< nothing if none is allowed everywhere, or too few could be tried
  std::size_t allowed = 0;                     ///< how many configurations all problems allow
  std::size_t candidates = 0;                  ///< how many of them were tried
  std::size_t problems = 0;                    ///< and on how many problems the best of them
};

/// So many candidates make a search: with fewer, unless no more are allowed, none of them is said to be the best.
inline constexpr std::size_t kFewestCandidates = 48;

/// What is known before the search.
struct FixedKnowledge {
  std::vector<Configuration>
      winners;                      ///< what was the fastest of some problem: tried first, where all problems allow it
  const Transfer* costs = nullptr;  ///< what other measurements let expect; null: nothing
};

/// Searches all configurations that all of `problems`, smallest first, allow, for the lowest geometric mean of their
/// times: with heddle's own default strategy and `seed`, on a few of the problems, until `searching` ends and enough
/// were tried, or nothing is left; the best of those then on all problems. `stop` ends all of it.
[[nodiscard]] FixedMapping best_fixed(Evaluator& evaluator, const std::vector<Problem>& problems,
                                      const FixedKnowledge& known, std::uint64_t seed, const StopCondition& searching,
                                      const StopCondition& stop);

}  // namespace heddle::bench
