// What the parts of one search share.
#pragma once

#include <optional>

#include "heddle/tuner/effort.hpp"
#include "heddle/tuner/evaluator.hpp"
#include "heddle/tuner/search/searched_problem.hpp"
#include "heddle/tuner/search/visit_journal.hpp"
#include "heddle/tuner/stop_condition.hpp"
#include "heddle/tuner/tuner_options.hpp"

namespace heddle {

/// What the searches of a run tell each other of time, on the clock of their StopConditions.
struct Pace {
  double batch_seconds = 0.0;        ///< that the last batch of any search took
  std::optional<double> last_timed;  ///< when a kernel was last timed
};

/// Everything that it names must outlive it.
struct SearchContext {
  Evaluator& evaluator;
  const TunerOptions& options;
  const SearchedProblem& problem;
  VisitJournal& journal;
  StopCondition& stop;  ///< of the whole visit
  Effort& effort;       ///< the parts add what they spend
  Pace& pace;           ///< of the whole run

  /// TunerOptions::objective of a configuration; without one its time.
  [[nodiscard]] double objective_of(std::size_t configuration, const Measured& measured) const {
    if (!options.objective) return measured.time;
    return options.objective->of(evaluator.family(), problem.problem(), problem.at(configuration), measured);
  }
};

/// Adds the time that a scope takes, on the clock of the search, to one part of an Effort.
class Stopwatch {
 public:
  Stopwatch(double& seconds, const StopCondition& stop) : seconds_(seconds), stop_(stop), start_(stop.now()) {}
  ~Stopwatch() { seconds_ += stop_.now() - start_; }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& seconds_;
  const StopCondition& stop_;
  double start_;
};

}  // namespace heddle
