// Seeded samples and networks on which what a kernel computes can be compared with float64 rule by rule.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "heddle/kernels/sonfin/workload.hpp"

namespace heddle::sonfin {

/// Options that choose a path through the kernels.
struct OptionSet {
  Step step = Step::scaled;
  Width width = Width::distance;
  /// exp(l) of every rule is 0 in float32 then, so that only work with log firings passes.
  bool deep = false;

  [[nodiscard]] std::string text() const;  ///< "scaled step, distance width, deep"
  bool operator==(const OptionSet&) const = default;
};
/// Every combination.
[[nodiscard]] const std::array<OptionSet, 8>& option_sets();

/// Three rows are far from all rules that are there when their turn comes, so that each wants a rule of its own.
struct VerificationWorkload : Workload {
  std::int64_t first_far = 0;   ///< position of the first: the rule that makes the network that of the problem
  std::int64_t second_far = 0;  ///< in the second half: a plan for the problem has no room for its rule
  std::int64_t third_far = 0;   ///< a few samples later
};

/// Starts with one rule less than the problem has. `options.max_rules` is `max_rules`: the rules of the problem, or one
/// more. `samples`: at least 16. Same arguments, same bytes.
[[nodiscard]] VerificationWorkload verification_workload(const Problem& problem, const OptionSet& set,
                                                         std::int64_t max_rules, std::int64_t samples,
                                                         std::uint64_t seed);

}  // namespace heddle::sonfin
