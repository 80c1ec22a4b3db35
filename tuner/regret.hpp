// How much slower the dispatcher's choice at untuned sizes is than the best configuration that a search finds there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "heddle/profiles/profile_store.hpp"
#include "heddle/runtime/dispatch/dispatcher.hpp"
#include "heddle/tuner/evaluator.hpp"
#include "heddle/tuner/stop_condition.hpp"
#include "heddle/tuner/tuner_options.hpp"
#include "heddle/tuner/tuning_result.hpp"

namespace heddle {

struct Regret {
  Problem problem;
  std::string chosen;                         ///< the dispatcher's choice, canonical text
  std::string reason;                         ///< why, in one line
  std::string best;                           ///< the winner of a search there; the choice itself if nothing is faster
  double chosen_time = 0.0, best_time = 0.0;  ///< medians of interleaved repetitions, microseconds per sample
  std::optional<double> default_time = {};    ///< likewise, of the untuned default; nothing if it fails
  /// chosen_time / best_time - 1; 0 if the two cannot be told apart.
  double loss = 0.0;
  std::int64_t evaluations = 0;  ///< of the search
};

/// `count` problems with sizes drawn evenly, each on the scale of its axis, between the smallest and the largest of
/// `tuned`, none of which is tuned. Problems between which nothing carries over are ranges of their own. Fewer if there
/// is no room between them. The same arguments give the same problems.
[[nodiscard]] std::vector<Problem> problems_between(const std::vector<Problem>& tuned, const std::vector<Axis>& axes,
                                                    std::size_t count, std::uint64_t seed);

/// Searches at untuned sizes with the profiles and measurements of a database, as the tuner would. The database is not
/// changed.
class RegretMeter {
 public:
  /// `store`: the profiles and measurements for the dispatcher and the searches; read once, here. The evaluator must
  /// outlive this. Throws Error(profiles).
  RegretMeter(Evaluator& evaluator, const ProfileStore& store, TunerOptions options);

  /// Searches at `problem`, where the dispatcher's choice takes part, then times winner, choice and default in turns.
  /// Results at one problem are not used at the next. Throws Error(device) if not even the choice can run there.
  [[nodiscard]] Regret measure(const Problem& problem, StopCondition& stop);

 private:
  /// What a program would run: the dispatcher's choice, or the next candidate where that one spills registers.
  [[nodiscard]] Candidate choose(const Problem& problem) const;
  [[nodiscard]] std::optional<TuningResult> search(const Problem& problem, const Configuration& choice,
                                                   StopCondition& stop);

  Evaluator& evaluator_;
  TunerOptions options_;
  Dispatcher dispatcher_;
  ProfileStore scratch_;  ///< in memory
};

}  // namespace heddle
