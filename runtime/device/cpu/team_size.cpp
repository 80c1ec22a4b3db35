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
// Fewer threads are to be faster by so much, because times differ from trial to trial.
constexpr double kGain = 0.95;

double doubled(double patience) { return std::clamp(2.0 * patience, kLeastPatience, kMostPatience); }

}  // namespace

TeamSize::TeamSize() noexcept : patience_(kLeastPatience) {}

int TeamSize::of(int parts) const noexcept {
  for (int i = 0; i < halvings_ && parts > 1; ++i) parts = (parts + 1) / 2;
  return parts;
}

void TeamSize::count(double seconds, double lost, unsigned meetings) noexcept {
  if (meetings == 0) {  // nobody will know: a size that is tried is kept, and what is lost says when to leave it
    trial_.reset();
    pace_ = {};
  } else {
    if (!trial_ && pace_.seconds > kTrial) pace_ = {.seconds = pace_.seconds / 2, .meetings = pace_.meetings / 2};
    pace_.seconds += seconds;
    pace_.meetings += meetings;
  }
  if (trial_) {
    if (pace_.seconds >= kTrial) judge(*trial_);
    return;
  }
  calm_ += seconds;
  excess_ = std::max(0.0, excess_ + lost - kMostLost * seconds);
  if (excess_ > kTolerance && calm_ >= reluctance_) {
    begin(1);
  } else if (halvings_ > 0 && excess_ <= kTolerance && calm_ >= patience_) {
    patience_ = doubled(patience_);
    begin(-1);
  }
}

void TeamSize::begin(int change) noexcept {
  halvings_ += change;
  if (pace_.meetings > 0.0) trial_ = {.change = change, .before = pace_.seconds / pace_.meetings};
  pace_ = {};
  excess_ = calm_ = 0.0;
}

void TeamSize::judge(const Trial& trial) noexcept {
  const double after = pace_.seconds / pace_.meetings;
  const bool fewer = trial.change > 0;
  if (fewer ? after >= kGain * trial.before : trial.before < kGain * after) {
    halvings_ -= trial.change;
    pace_ = {};
    if (fewer) reluctance_ = doubled(reluctance_);
  } else if (fewer) {
    reluctance_ = 0.0;
  } else {
    patience_ = kLeastPatience;  // the machine has changed
  }
  trial_.reset();
  excess_ = calm_ = 0.0;
}

}  // namespace heddle
