// Progress of a whole run, combined from that of its problems.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "heddle/tuner/search/problem_search.hpp"
#include "heddle/tuner/stop_condition.hpp"
#include "heddle/tuner/tuner.hpp"

namespace heddle {

/// Callbacks and condition must outlive it.
class Reporter {
 public:
  Reporter(const TunerCallbacks& callbacks, const StopCondition& stop, std::size_t problems)
      : callbacks_(callbacks), stop_(stop), problems_(problems) {}

  /// `fraction_before`: the fraction of the run before this visit; `share`: the fraction that the visit may take.
  void progress(std::size_t index, double fraction_before, double share, Stage stage, const ProblemSearch& search);
  /// The visit of the problem at `index` has ended; it counts towards the sums from now on.
  void finished(std::size_t index, const TuningResult& result);
  void result(const TuningResult& result) const;

 private:
  void advance(double visited, std::int64_t evaluations);

  const TunerCallbacks& callbacks_;
  const StopCondition& stop_;
  std::size_t problems_;
  std::int64_t evaluations_ = 0;
  std::map<std::size_t, std::int64_t> under_way_;  ///< evaluations of visits that have not ended, by problem
  Effort effort_;
  double fraction_ = 0.0;
};

}  // namespace heddle
