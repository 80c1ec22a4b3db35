#include "heddle/runtime/device/cpu/team_size.hpp"

#include <algorithm>

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

void TeamSize::Pace::add(double more_seconds, unsigned more_meetings) noexcept {
  seconds += more_seconds;
  meetings += more_meetings;
}

void TeamSize::count(const Work& work, double seconds, double lost, unsigned meetings) {
  if (trial_) return try_on(work, seconds, meetings);
  Pace* known = nullptr;
  if (meetings > 0) {
    known = &paces_[work];
    if (known->seconds > kTrial) *known = {.seconds = known->seconds / 2, .meetings = known->meetings / 2};
    known->add(seconds, meetings);
  }
  calm_ += seconds;
  excess_ = std::max(0.0, excess_ + lost - kMostLost * seconds);
  if (excess_ > kTolerance && calm_ >= reluctance_) {
    begin(work, 1);
  } else if (halvings_ > 0 && calm_ >= patience_ && (known != nullptr || excess_ <= kTolerance)) {
    patience_ = doubled(patience_);
    begin(work, -1);
  }
}

void TeamSize::try_on(const Work& work, double seconds, unsigned meetings) noexcept {
  trial_->taken += seconds;
  if (work == trial_->work) {
    if (of(work.parts) == 1) return end_trial();  // nobody will know; a thread alone loses nothing
    if (meetings > 0) trial_->after.add(seconds, meetings);
    if (meetings > 0 && trial_->after.seconds >= kTrial) return judge(*trial_);
  }
  if (trial_->taken < kLongestTrial) return;
  halvings_ -= trial_->change;
  end_trial();
}

void TeamSize::begin(const Work& work, int change) {
  halvings_ += change;
  const auto known = paces_.find(work);
  if (known != paces_.end()) {
    trial_ = {.work = work, .change = change, .before = known->second.seconds / known->second.meetings, .after = {}};
  }
  paces_.clear();
  excess_ = calm_ = 0.0;
}

void TeamSize::judge(const Trial& trial) noexcept {
  const double after = trial.after.seconds / trial.after.meetings;
  const bool fewer = trial.change > 0;
  if (fewer ? after >= kGain * trial.before : trial.before < kGain * after) {
    halvings_ -= trial.change;
    if (fewer) reluctance_ = doubled(reluctance_);
  } else if (fewer) {
    reluctance_ = 0.0;
  } else {
    patience_ = kLeastPatience;  // the machine has changed
  }
  end_trial();
}

void TeamSize::end_trial() noexcept {
  trial_.reset();
  excess_ = calm_ = 0.0;
}

}  // namespace heddle
