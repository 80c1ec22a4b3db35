// When a search ends: a budget of time or evaluations, or somebody who wants it to.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace heddle {

/// What a search may use; nothing means no limit.
struct Budget {
  std::optional<double> seconds;
  std::optional<std::int64_t> evaluations;
};

/// Reached as soon as one of its limits is, or one of the condition it is a part of: nothing more is begun then. What
/// was begun may be finished until it is over. From one thread at a time.
class StopCondition {
 public:
  /// Seconds since any fixed moment.
  using Clock = std::function<double()>;

  /// The time starts now. `interrupted`: asked often, from the searching thread; may be empty.
  explicit StopCondition(Budget budget = {}, std::function<bool()> interrupted = {}, Clock clock = steady_clock());

  [[nodiscard]] bool reached() const;
  /// Reached for another reason than its share of the time of the condition it is a part of.
  [[nodiscard]] bool over() const;
  /// Somebody asked to stop, whatever the budget.
  [[nodiscard]] bool interrupted() const;
  void count_evaluation();

  /// What else ends it; for the search of one problem.
  struct Satisfaction {
    /// So many observations in a row none of which was faster than all before.
    std::optional<std::int64_t> without_gain;
    /// A cost of at most this.
    std::optional<double> good_enough;
  };
  void satisfied_by(const Satisfaction& satisfaction) { satisfaction_ = satisfaction; }
  /// The outcome of one configuration; nothing if it failed.
  void observe(const std::optional<double>& cost);

  [[nodiscard]] double now() const { return clock_(); }
  [[nodiscard]] double seconds_used() const { return clock_() - start_; }
  /// Likewise of the condition that this is a part of, if it is.
  [[nodiscard]] double seconds_of_whole() const { return whole_ ? whole_->seconds_of_whole() : seconds_used(); }
  /// Never negative; nothing if there is no such limit.
  [[nodiscard]] std::optional<double> seconds_left() const;
  /// Likewise of the condition that this is a part of, if it is.
  [[nodiscard]] std::optional<double> seconds_left_of_whole() const {
    return whole_ ? whole_->seconds_left_of_whole() : seconds_left();
  }
  [[nodiscard]] std::optional<std::int64_t> evaluations_left() const;

  /// A condition over a fraction of the time that is left of this one, and of the evaluations. Its evaluations count
  /// here too; must not outlive this.
  [[nodiscard]] StopCondition part(double of_time, double of_evaluations);

  /// One that only an interruption ends. Its evaluations count here too; must not outlive this.
  [[nodiscard]] StopCondition without_budget();
  /// Time that was spent before this was made.
  void add_seconds_used(double seconds) { start_ -= seconds; }

  [[nodiscard]] static Clock steady_clock();

 private:
  [[nodiscard]] bool satisfied() const;

  Budget budget_;
  std::function<bool()> interrupted_;
  Clock clock_;
  double start_ = 0.0;
  std::int64_t evaluations_ = 0;
  Satisfaction satisfaction_;
  std::optional<double> best_;
  std::int64_t since_gain_ = 0;
  StopCondition* whole_ = nullptr;
  bool unlimited_ = false;
};

}  // namespace heddle
