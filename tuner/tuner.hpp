// The tuning loop: screens many configurations cheaply, re-times the best, verifies and keeps the winner.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "heddle/profiles/profile_store.hpp"
#include "heddle/tuner/evaluator.hpp"
#include "heddle/tuner/stop_condition.hpp"
#include "heddle/tuner/tuning_result.hpp"

namespace heddle {

struct TunerCallbacks {
  std::function<void(const TuningProgress&)> progress;  ///< after every evaluation and every stage
  std::function<void(const TuningResult&)> result;      ///< after every problem, and again if it was improved
  /// At the end: what sizes between the tuned ones can be expected to lose, as a fraction of the best time.
  std::function<void(double)> expected_loss;
};

/// Evaluator and store must outlive it.
class Tuner {
 public:
  Tuner(Evaluator& evaluator, ProfileStore& store, TunerOptions options = {}, TunerCallbacks callbacks = {});

  /// Profiles of this family and device that were made from other templates, by another driver or compiler or at other
  /// clocks are measured again first, whether or not they are among `problems`: a handful of measurements each, and a
  /// search where somebody else wins now. The rest of the budget is shared out evenly, problems without a profile
  /// first. However short the budget, every problem reached tries the default and ends with a verified profile unless
  /// interrupted; the named configurations, its present profile, the winners of problems like it and what all
  /// measurements so far make expect come next. In the last part of the budget come sizes between the problems, if
  /// TunerOptions::between says so, and rounds over all problems that try what is known better by then, until a round
  /// improves nothing. Everything measured is in the store when this returns
  /// or throws, except what the store refused. Problems never reached have no result. Throws Error(profiles),
  /// Error(device).
  ///
  /// A run of the same task that was killed or interrupted is continued: it takes the same path again, but measures
  /// nothing that it knows. What earlier runs measured with the same kernels, driver and compiler is not measured again
  /// either; it counts as no evaluation.
  [[nodiscard]] std::vector<TuningResult> tune(const std::vector<Problem>& problems, StopCondition& stop);
  /// As a part of a run that covers more: the caller begins and ends it, with task() as a part of its task.
  [[nodiscard]] std::vector<TuningResult> tune(const std::vector<Problem>& problems, StopCondition& stop,
                                               const TuningRun& run);
  /// Everything but the budget that decides which way the search takes.
  [[nodiscard]] std::string task(const std::vector<Problem>& problems) const;

 private:
  Evaluator& evaluator_;
  ProfileStore& store_;
  TunerOptions options_;
  TunerCallbacks callbacks_;
};

}  // namespace heddle
