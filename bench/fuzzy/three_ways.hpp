// What the choice of a configuration is worth: the untuned one, the fastest of many for each problem, and the single
// one that is fastest over all problems.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "heddle/tuner/evaluator.hpp"

namespace heddle::bench {

struct ThreeWays {
  struct Way {
    Configuration configuration;
    double microseconds = 0.0;  ///< median of a launch
  };
  Problem problem;
  Way untuned, tuned;
  /// The same configuration for all problems. Nothing where none of those tried can run for every problem.
  std::optional<Way> fixed;
  std::size_t tried = 0, valid = 0;  ///< configurations
};

struct ThreeWaysOptions {
  /// Configurations that are drawn for a problem: so many of those that are valid for all problems, and so many of all
  /// that are valid for this one.
  std::size_t sample = 16;
  /// Configurations to try beside those, wherever they are valid; of other families are left out.
  std::vector<std::string> also{};
  std::int64_t launches = 4;  ///< in one timed run
  int rounds = 7;             ///< of the last comparison, in which the three ways run in turn
  unsigned seed = 1;
  std::size_t least = 8;  ///< configurations of a problem that are tried however late it is
  /// Asked with the place of a problem: whether it is too late to try further configurations for it.
  std::function<bool(std::size_t)> late = [](std::size_t) { return false; };
};

/// Beside those drawn, the untuned configurations of all problems are tried wherever they are valid. The fixed one has
/// the least geometric mean of the times over all problems. Throws DeviceFailure if an untuned one cannot run.
[[nodiscard]] std::vector<ThreeWays> compare_three_ways(Evaluator& evaluator, const std::vector<Problem>& problems,
                                                        const ThreeWaysOptions& options);

}  // namespace heddle::bench
