#include "heddle/tuner/stop_condition.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace heddle {

StopCondition::Clock StopCondition::steady_clock() {
  return [] { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); };
}

StopCondition::StopCondition(Budget budget, std::function<bool()> interrupted, Clock clock)
    : budget_(budget), interrupted_(std::move(interrupted)), clock_(std::move(clock)), start_(clock_()) {}

bool StopCondition::reached() const {
  if (unlimited_) return interrupted();
  return must_abandon() || seconds_left() == 0.0 || (parent_ != nullptr && parent_->reached());
}

bool StopCondition::must_abandon() const {
  if (unlimited_) return interrupted();
  if (parent_ == nullptr && seconds_left() == 0.0) return true;
  return interrupted() || ended_early() || evaluations_left() == 0 || (parent_ != nullptr && parent_->must_abandon());
}

bool StopCondition::ended_early() const {
  if (!best_) return false;
  return (early_end_.without_gain && since_gain_ >= *early_end_.without_gain) ||
         (early_end_.good_enough && *best_ <= *early_end_.good_enough);
}

void StopCondition::observe(const std::optional<double>& cost) {
  const bool faster = cost && (!best_ || *cost < *best_);
  since_gain_ = faster ? 0 : since_gain_ + 1;
  if (faster) best_ = cost;
}

bool StopCondition::interrupted() const { return interrupted_ && interrupted_(); }

void StopCondition::count_evaluation() {
  ++evaluations_;
  if (parent_ != nullptr) parent_->count_evaluation();
}

std::optional<double> StopCondition::seconds_left() const {
  if (!budget_.seconds) return std::nullopt;
  return std::max(0.0, *budget_.seconds - seconds_used());
}

std::optional<std::int64_t> StopCondition::evaluations_left() const {
  if (!budget_.evaluations) return std::nullopt;
  return std::max<std::int64_t>(0, *budget_.evaluations - evaluations_);
}

StopCondition StopCondition::slice(double of_time, double of_evaluations) {
  Budget budget;
  if (const auto left = seconds_left()) budget.seconds = *left * of_time;
  if (const auto left = evaluations_left()) {
    budget.evaluations = static_cast<std::int64_t>(static_cast<double>(*left) * of_evaluations);
  }
  StopCondition result(budget, interrupted_, clock_);
  result.parent_ = this;
  return result;
}

void StopCondition::leave_to_parent(double seconds) {
  if (parent_ == nullptr) return;
  if (const auto left = parent_->seconds_left()) budget_.seconds = seconds_used() + std::max(0.0, *left - seconds);
}

StopCondition StopCondition::without_budget() {
  StopCondition result({}, interrupted_, clock_);
  result.parent_ = this;
  result.unlimited_ = true;
  return result;
}

}  // namespace heddle
