// Which problem a tuning run visits next, and how much of the budget the visit gets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "heddle/tuner/lessons.hpp"
#include "heddle/tuner/problem_pool.hpp"

namespace heddle {

/// A phase of a run, in fractions of the whole run.
struct Phase {
  double begin = 0.0, length = 1.0;
};

/// How many searches a run keeps active. On a device that shares the host's processor, one.
[[nodiscard]] std::size_t concurrent_searches(const Evaluator& evaluator);
/// How many batches each of `active` searches has in flight, if a run keeps up to `most_active` searches active.
[[nodiscard]] std::size_t batches_ahead(std::size_t active, std::size_t most_active);

/// The agenda of a run: first the profiles that are measured again, then the problems without a profile, then the
/// others. Problems that another run of the pool has taken drop out. Lessons and condition must outlive it.
class Schedule {
 public:
  /// `most_active`: as concurrent_searches().
  Schedule(const Lessons& lessons, const StopCondition& stop, std::vector<PlannedVisit> agenda, std::size_t most_active,
           PoolShare share)
      : lessons_(lessons), stop_(stop), agenda_(std::move(agenda)), most_active_(most_active), pool_(share) {}

  /// Number of visits that were taken. Visits are named by their place on the agenda.
  [[nodiscard]] std::size_t taken() const noexcept { return taken_; }
  [[nodiscard]] const PlannedVisit& at(std::size_t place) const { return agenda_[place]; }

  /// Takes the next visit off the agenda if it only measures a profile again; returns its place.
  std::optional<std::size_t> take_remeasurement();
  /// Takes the next visit off the agenda; returns its place. Of the problems without a profile, the most valuable one
  /// comes first, where the problems `under_way` count as tuned. Nothing if no visit is left, or if the time left is
  /// too short for any of them.
  std::optional<std::size_t> take(const std::vector<Problem>& under_way);

  /// The visits that this run may still carry out, the one that was taken last included.
  [[nodiscard]] double unstarted() const;
  /// The part of `phase` for the visit that was taken last, if it is carried out alone.
  [[nodiscard]] StopCondition even_share(StopCondition& phase) const;
  /// The same while `active` other visits are under way, to which `promised` evaluations belong.
  [[nodiscard]] StopCondition share(StopCondition& phase, std::size_t active, std::int64_t promised) const;

 private:
  bool has_next();
  bool bring_best_forward(const std::vector<Problem>& under_way);
  [[nodiscard]] std::vector<Problem> within_time(std::vector<Problem> problems) const;

  const Lessons& lessons_;
  const StopCondition& stop_;
  std::vector<PlannedVisit> agenda_;
  std::vector<PlannedVisit> elsewhere_;  ///< taken by other runs, which may fail
  std::size_t most_active_;
  PoolShare pool_;
  std::size_t taken_ = 0;
};

}  // namespace heddle
