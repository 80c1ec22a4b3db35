#include "heddle/runtime/device/cpu/team_size.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace heddle {
namespace {

// Part of the time that may be lost. A team of two that is 1.5 times as fast as one thread becomes slower than it if
// more is lost.
constexpr double kMostLost = 1.0 / 3.0;
// Lost time beyond kMostLost that is tolerated: several time slices of another program, of 3 or 4 ms each.
constexpr double kTolerance = 0.012;  // seconds
// Time before a size is tried again. A try that fails costs some 30 ms, which is then a few percent of the time.
constexpr double kLeastPatience = 0.25, kMostPatience = 4.0;  // seconds
// How long a size is tried: again several time slices. As far back the pace before it is known.
constexpr double kTrial = 0.025;  // seconds
// Time between two trials, in times of the first: a launch may take longer than kTrial.
constexpr double kTrialsApart = 20.0;
// Of so many kernels the pace is kept.
constexpr std::size_t kMostPaces = 64;
// Until a trial of work that does not come back is given up.
constexpr double kLongestTrial = 1.0;  // seconds
// Fewer threads are to be faster by so much, because times differ from trial to trial.
constexpr double kGain = 0.95;

double doubled(double patience) { return std::clamp(2.0 * patience, kLeastPatience, kMostPatience); }

}  // namespace

TeamSize::TeamSize() noexcept : patience_(kLeastPatience) {}

int TeamSize::of(int parts) const noexcept {
  for (int i = 0; i < halvings_ && parts > 1; ++i) parts = (parts + 1) / 2;
  return parts;
}

void TeamSize::add_pace(const Work& work, double seconds, unsigned meetings) {
  if (paces_.size() == kMostPaces && !paces_.contains(work)) paces_.clear();
  Pace& pace = paces_[work];
  if (pace.seconds > kTrial) pace = {.seconds = pace.seconds / 2, .meetings = pace.meetings / 2};
  pace.seconds += seconds;
  pace.meetings += meetings;
}

void TeamSize::count(const Work& work, double seconds, double lost, unsigned meetings) {
  if (trial_) return try_on(work, seconds, meetings);
  if (meetings > 0) add_pace(work, seconds, meetings);
  calm_ += seconds;
  excess_ = std::max(0.0, excess_ + lost - kMostLost * seconds);
  if (excess_ > kTolerance && calm_ >= reluctance_) {
    begin(1, meetings > 0);
  } else if (halvings_ > 0 && calm_ >= patience_ && (meetings > 0 || excess_ <= kTolerance)) {
    patience_ = doubled(patience_);
    begin(-1, meetings > 0);
  }
}

void TeamSize::try_on(const Work& work, double seconds, unsigned meetings) noexcept {
  trial_->taken += seconds;
  const Paces& before = trial_->before;
  const auto alone = [this](const Paces::value_type& known) { return of(known.first.parts) == 1; };
  if (std::ranges::all_of(before, alone)) return end_trial();  // nobody will know; a thread alone loses nothing
  const auto known = before.find(work);
  if (known != before.end() && meetings > 0) {
    trial_->found += seconds;
    trial_->expected += known->second.seconds / known->second.meetings * meetings;
    if (trial_->found >= kTrial) return judge(*trial_);
  }
  if (trial_->taken >= kLongestTrial) take_back(*trial_);
}

void TeamSize::begin(int change, bool judged) {
  halvings_ += change;
  if (judged) trial_ = {.change = change, .before = std::move(paces_)};
  paces_.clear();
  excess_ = calm_ = 0.0;
}

void TeamSize::judge(const Trial& trial) noexcept {
  const bool fewer = trial.change > 0;
  if (fewer ? trial.found >= kGain * trial.expected : trial.expected < kGain * trial.found) return take_back(trial);
  (fewer ? reluctance_ : patience_) = fewer ? 0.0 : kLeastPatience;  // tries before it that were in vain count no more
  end_trial();
}

void TeamSize::take_back(const Trial& trial) noexcept {
  halvings_ -= trial.change;
  double& waiting = trial.change > 0 ? reluctance_ : patience_;
  if (trial.change > 0) waiting = doubled(waiting);
  waiting = std::max(waiting, kTrialsApart * trial.taken);
  end_trial();
}

void TeamSize::end_trial() noexcept {
  trial_.reset();
  excess_ = calm_ = 0.0;
}

}  // namespace heddle
