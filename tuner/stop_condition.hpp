// When a search ends: its budget of time or evaluations is used up, or the user interrupts it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace heddle {

/// The limits of a search; nothing means no limit.
struct Budget {
  std::optional<double> seconds;
  std::optional<std::int64_t> evaluations;
};

/// The budget of a run, or a slice of it: the budget of one problem or phase. A slice ends when its own share is used
/// up or when its parent ends. Two questions matter to a search: reached(), it must begin nothing new; must_abandon(),
/// it must also drop what is running. From one thread at a time.
class StopCondition {
 public:
  /// Seconds since any fixed moment.
  using Clock = std::function<double()>;

  /// The time starts now. `interrupted`: asked often, from the searching thread; may be empty.
  explicit StopCondition(Budget budget = {}, std::function<bool()> interrupted = {}, Clock clock = steady_clock());

  [[nodiscard]] bool reached() const;
  /// Whether running work has to be dropped: the user interrupted, the evaluations are used up, an EarlyEnd took place
  /// (here or in a parent), or the time of the whole run is over. False if merely the time of a slice is over.
  [[nodiscard]] bool must_abandon() const;
  /// The user asked to stop; independent of the budget.
  [[nodiscard]] bool interrupted() const;
  void count_evaluation();

  /// Reasons to end the search of one problem before its budget is used up.
  struct EarlyEnd {
    /// This many observations in a row were not faster than the best before them.
    std::optional<std::int64_t> without_gain;
    /// An observation had at most this cost.
    std::optional<double> good_enough;
  };
  void end_early(const EarlyEnd& early_end) { early_end_ = early_end; }
  /// The cost of one configuration; nothing if it failed.
  void observe(const std::optional<double>& cost);

  [[nodiscard]] double now() const { return clock_(); }
  [[nodiscard]] double seconds_used() const { return clock_() - start_; }
  /// Seconds used by the whole run: of the outermost parent.
  [[nodiscard]] double seconds_used_in_total() const {
    return parent_ ? parent_->seconds_used_in_total() : seconds_used();
  }
  /// Seconds left of this condition; never negative; nothing if it has no limit of time.
  [[nodiscard]] std::optional<double> seconds_left() const;
  /// Seconds left of the whole run: of the outermost parent.
  [[nodiscard]] std::optional<double> seconds_left_in_total() const {
    return parent_ ? parent_->seconds_left_in_total() : seconds_left();
  }
  [[nodiscard]] std::optional<std::int64_t> evaluations_left() const;

  /// A condition with a fraction of the time and of the evaluations that are left here; this one becomes its parent.
  /// Its evaluations count here too. It must not outlive this one.
  [[nodiscard]] StopCondition slice(double of_time, double of_evaluations);

  /// Of a slice of a condition with a limit of time: from now on it ends so many seconds before that one.
  void leave_to_parent(double seconds);

  /// A condition that only an interruption ends; this one becomes its parent. Its evaluations count here too. It must
  /// not outlive this one.
  [[nodiscard]] StopCondition without_budget();
  /// Adds time that the run spent before this condition was made.
  void add_seconds_used(double seconds) { start_ -= seconds; }

  [[nodiscard]] static Clock steady_clock();

 private:
  [[nodiscard]] bool ended_early() const;

  Budget budget_;
  std::function<bool()> interrupted_;
  Clock clock_;
  double start_ = 0.0;
  std::int64_t evaluations_ = 0;
  EarlyEnd early_end_;
  std::optional<double> best_;
  std::int64_t since_gain_ = 0;
  StopCondition* parent_ = nullptr;
  bool unlimited_ = false;
};

}  // namespace heddle
