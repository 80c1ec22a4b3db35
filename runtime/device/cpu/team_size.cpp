#include "heddle/runtime/device/cpu/team_size.hpp"

#include <algorithm>

namespace heddle {
namespace {

// Part of the time that may be lost. A team of two that is 1.5 times as fast as one thread becomes slower than it if
// more is lost.
constexpr double kMostLost = 1.0 / 3.0;
// Lost time beyond kMostLost that is tolerated: several time slices of another program, of 3 or 4 ms each.
constexpr double kTolerance = 0.012;  // seconds
// Time before more threads are tried again. A try that fails costs some 30 ms, which is then a few percent of the time.
constexpr double kLeastPatience = 0.25, kMostPatience = 4.0;  // seconds

}  // namespace

TeamSize::TeamSize() noexcept : patience_(kLeastPatience) {}

int TeamSize::of(int parts) const noexcept {
  for (int i = 0; i < halvings_ && parts > 1; ++i) parts = (parts + 1) / 2;
  return parts;
}

void TeamSize::count(double seconds, double lost) noexcept {
  if (halvings_ > 0) calm_ += seconds;
  excess_ = std::max(0.0, excess_ + lost - kMostLost * seconds);
  if (excess_ > kTolerance) {
    ++halvings_;
    excess_ = calm_ = 0.0;
  } else if (halvings_ > 0 && calm_ >= patience_) {
    --halvings_;
    excess_ = calm_ = 0.0;
    patience_ = std::min(2.0 * patience_, kMostPatience);
  }
}

}  // namespace heddle
