// The tuning loop: screens many configurations cheaply, re-times the best, verifies and keeps the winner.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "heddle/profiles/profile_store.hpp"
#include "heddle/tuner/evaluator.hpp"
#include "heddle/tuner/problem_pool.hpp"
#include "heddle/tuner/single_mapping.hpp"
#include "heddle/tuner/stop_condition.hpp"
#include "heddle/tuner/tuner_options.hpp"
#include "heddle/tuner/tuning_progress.hpp"
#include "heddle/tuner/tuning_result.hpp"

namespace heddle {

struct TunerCallbacks {
  std::function<void(const TuningProgress&)> progress;  ///< after every evaluation and every stage
  std::function<void(const TuningResult&)> result;      ///< after every problem, and again if it was improved
  /// At the end, if tuned problems say something about all sizes: the expected loss at untuned sizes between the tuned
  /// ones, as a fraction of the best time.
  std::function<void(double)> expected_loss;
  /// At the end: the model that was fitted to all that is known of this device, if the family counts anything.
  std::function<void(const FittedModel&)> model;
  /// At the end: the configuration that would be the best one for all problems.
  std::function<void(const SingleMapping&)> single_mapping;
};

/// Evaluator and store must outlive it.
class Tuner {
 public:
  /// `pool`: with which other runs this one shares out the problems, and the sizes between them.
  Tuner(Evaluator& evaluator, ProfileStore& store, TunerOptions options = {}, TunerCallbacks callbacks = {},
        PoolShare pool = {});

  /// Tunes in phases:
  ///
  /// 1. Profiles of this family and device are measured again if their environment has changed (templates, driver,
  ///   compiler or clocks), whether or not they are among `problems`. That takes a few measurements each; a search
  ///   follows only where another configuration wins now.
  /// 2. Every problem is searched, those without a profile first. A search tries the default, the named configurations,
  ///   the present profile, what the device would run untuned, the winners of similar problems, and the configurations
  ///   that earlier measurements make promising; then the strategy proposes.
  /// 3. Of several problems, each tries with its winner what made others faster of the parameters that are chosen last
  ///   (Parameter::chosen_last), if it ended before that was known.
  /// 4. The configuration that is likely to be the best one for all problems is tried where it was not (of several
  ///   problems).
  /// 5. If TunerOptions::tune_sizes_between is set, untuned sizes between the problems get a few measurements each.
  /// 6. Rounds over all problems try what has become promising meanwhile, until a round improves nothing.
  ///
  /// At the end the family's model of times is fitted to all measurements of this device and kept.
  ///
  /// However short the budget is, every problem that is reached tries the default and ends with a verified profile,
  /// unless interrupted. Problems that are not reached have no result. Everything measured is in the store when this
  /// returns or throws, except what the store refused. Throws Error(profiles), Error(device).
  ///
  /// A run of the same task that was killed or interrupted is continued: the search takes the same path again and reads
  /// what was measured from the store. Measurements of earlier runs with the same kernels, driver and compiler are
  /// reused too; they do not count as evaluations.
  [[nodiscard]] std::vector<TuningResult> tune(const std::vector<Problem>& problems, StopCondition& stop);
  /// The same as a part of a larger run, which the caller begins and ends. That run's task contains task().
  [[nodiscard]] std::vector<TuningResult> tune(const std::vector<Problem>& problems, StopCondition& stop,
                                               const TuningRun& run);
  /// The identity of a run, as stored in the database: a run with the same text can be continued. It names what decides
  /// the path of the search, but not the limits that may end it.
  [[nodiscard]] std::string task(const std::vector<Problem>& problems) const;

 private:
  Evaluator& evaluator_;
  ProfileStore& store_;
  TunerOptions options_;
  TunerCallbacks callbacks_;
  PoolShare pool_;
};

}  // namespace heddle
