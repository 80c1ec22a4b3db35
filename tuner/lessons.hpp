// What a tuning run has learnt at the problems that it has visited, for those that it will visit.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "heddle/tuner/coverage.hpp"
#include "heddle/tuner/journal.hpp"
#include "heddle/tuner/known_profiles.hpp"
#include "heddle/tuner/last_choices.hpp"
#include "heddle/tuner/search/problem_search.hpp"
#include "heddle/tuner/single_mapping.hpp"
#include "heddle/tuner/suggestions.hpp"

namespace heddle {

/// Evaluator and profiles must outlive it.
class Lessons {
 public:
  /// Begins with what the profiles and earlier runs tell. `problems` bound the range of sizes; `models`:
  /// as they were when the run began.
  Lessons(const Evaluator& evaluator, KnownProfiles& known, const std::vector<Problem>& problems,
          const std::vector<PlannedVisit>& agenda, const Journal& journal, const std::vector<FittedModel>& models);

  /// Learns from a visit that has ended: the costs of its configurations, how much slower the winners of other problems
  /// are here, and whether the problem was too large for the budget.
  void learn(const ProblemSearch& search, const TuningResult& result);

  /// Counts problems as tuned that another run has tuned meanwhile.
  void count_as_tuned(const std::vector<Problem>& problems);

  [[nodiscard]] KnownProfiles& known() noexcept { return known_; }
  [[nodiscard]] const KnownProfiles& known() const noexcept { return known_; }
  [[nodiscard]] const Coverage& coverage() const noexcept { return coverage_; }
  [[nodiscard]] const Suggestions& suggestions() const noexcept { return suggestions_; }
  [[nodiscard]] LastChoices& last_choices() noexcept { return last_choices_; }
  [[nodiscard]] const LastChoices& last_choices() const noexcept { return last_choices_; }
  /// As likely_single_mapping() of the problems with these winners, by what this run knows.
  [[nodiscard]] std::optional<LikelyMapping> likely_single_mapping(const std::vector<Profile>& winners) const;
  /// What the present model expects. The lessons must outlive it.
  [[nodiscard]] ExpectedCost model_of_times() const;
  /// A lower bound of the seconds that the pilot run of the untuned default takes, from the slowest one that was
  /// stopped for want of time; 0 while there was none.
  [[nodiscard]] double least_pilot_seconds(const Problem& problem) const;

 private:
  void learn(const Problem& problem, const Transfer::Costs& costs);
  [[nodiscard]] double pilot_operations(const Problem& problem) const;

  const Evaluator& evaluator_;
  KnownProfiles& known_;
  Coverage coverage_;
  Suggestions suggestions_;
  LastChoices last_choices_;
  CostsOfProblems costs_;
  double seconds_per_operation_ = 0.0;  ///< a lower bound
};

}  // namespace heddle
