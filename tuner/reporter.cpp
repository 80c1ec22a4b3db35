#include "heddle/tuner/reporter.hpp"

#include <algorithm>

namespace heddle {

void Reporter::progress(std::size_t index, double fraction_before, double share, Stage stage,
                        const ProblemSearch& search) {
  if (!callbacks_.progress) return;
  TuningProgress progress;
  progress.problem_index = index;
  progress.problems = std::max(problems_, index + 1);
  progress.problem = &search.problem().problem();
  progress.stage = stage;
  progress.evaluations = search.attempts().evaluations();
  progress.valid = search.problem().count();
  under_way_[index] = search.attempts().evaluations();
  progress.all_evaluations = evaluations_;
  for (const auto& [problem, evaluations] : under_way_) progress.all_evaluations += evaluations;
  progress.best = search.attempts().best();
  progress.best_is_time = !search.has_objective();
  progress.untuned = search.untuned();
  progress.effort = effort_;
  progress.effort += search.effort();
  progress.effort.total = stop_.seconds_used();
  const auto tried = static_cast<double>(progress.evaluations);
  advance(fraction_before + share * tried / std::max(tried, static_cast<double>(progress.valid)),
          progress.all_evaluations);
  progress.fraction = fraction_;
  const double used = stop_.seconds_used();
  if (fraction_ > 0.0) progress.seconds_left = used * (1.0 - fraction_) / fraction_;
  callbacks_.progress(progress);
}

void Reporter::finished(std::size_t index, const TuningResult& result) {
  under_way_.erase(index);
  evaluations_ += result.evaluations();
  effort_ += result.effort;
}

void Reporter::result(const TuningResult& result) const {
  if (callbacks_.result) callbacks_.result(result);
}

/// The progress is the largest of the fractions of problems, time and evaluations, because any of them may end the run.
void Reporter::advance(double visited, std::int64_t evaluations) {
  fraction_ = std::max(fraction_, visited);
  const double used = stop_.seconds_used();
  if (const auto left = stop_.seconds_left()) fraction_ = std::max(fraction_, used / (used + *left));
  if (const auto left = stop_.evaluations_left()) {
    const auto done = static_cast<double>(evaluations);
    fraction_ = std::max(fraction_, done / (done + static_cast<double>(*left)));
  }
}

}  // namespace heddle
