// Which configurations to try at a problem, given the measurements at other problems.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "heddle/tuner/evaluator.hpp"
#include "heddle/tuner/known_profiles.hpp"
#include "heddle/tuner/model_fit.hpp"
#include "heddle/tuner/search/searched_problem.hpp"
#include "heddle/tuner/transfer.hpp"

namespace heddle {

/// Evaluator and profiles must outlive it.
class Suggestions {
 public:
  /// `models`: as they were when the run began.
  Suggestions(const Evaluator& evaluator, const KnownProfiles& known, const std::vector<FittedModel>& models);
  Suggestions(const Suggestions&) = delete;
  Suggestions& operator=(const Suggestions&) = delete;

  /// The family's model is fitted to what was learnt, again and again as more of it comes.
  void learn(const Problem& problem, const Transfer::Costs& costs);

  /// The expected log(cost / cost of the fastest) of each configuration of a problem, from the family's model and the
  /// measurements at other problems. Empty if the family has no model and too little was measured, or if the space is
  /// too large to be listed.
  [[nodiscard]] std::vector<float> expected(const SearchedProblem& problem) const;
  /// The cost that the model expects, microseconds per unit; nothing without a model, or if it expects none in
  /// particular.
  [[nodiscard]] std::optional<double> modelled(const Configuration& configuration, const Problem& problem) const;
  /// By which the device chose when the run began; null if it had none.
  [[nodiscard]] const CostModel* model_before() const noexcept { return before_ ? &*before_ : nullptr; }
  /// Configurations to try before the strategy proposes; the family's likely ones come on top.
  static constexpr std::size_t kFirst = 8;
  /// The configurations to try first: what the device would run untuned, the winners of the nearest problems, and
  /// others that are expected to be fast and not all alike, together at most `most`, and the family's likely ones.
  [[nodiscard]] std::vector<Configuration> first(const SearchedProblem& problem, const std::vector<float>& expected,
                                                 std::size_t most = kFirst) const;
  /// For a revisit: the winner, then winners of the nearest problems and those with the lowest expected cost, as far as
  /// they were not tried at this problem yet. Empty if there are none.
  [[nodiscard]] std::vector<Configuration> later(const SearchedProblem& problem, const std::set<std::string>& tried,
                                                 const Profile& winner) const;

 private:
  void refit();

  const Evaluator& evaluator_;
  const KnownProfiles& known_;
  std::optional<CostModel> prior_;  ///< of another device, or shipped
  const std::optional<CostModel> before_;
  std::optional<CostModel> model_;  ///< the best one at present
  FitPoints points_;
  std::size_t fitted_points_ = 0;  ///< that there were at the last fit
  Transfer transfer_;
};

}  // namespace heddle
