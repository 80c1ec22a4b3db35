#include "heddle/runtime/device/cpu/team_size.hpp"

#include <algorithm>

namespace heddle {
namespace {

// A program that takes a core takes it for milliseconds at a time: what was seen in less says nothing.
constexpr double kWindow = 0.02;  // seconds
constexpr double kMostMissing = 1.0 / 3.0;
// A window with more threads in vain costs at most a few percent of the time after it.
constexpr double kMostPatience = 4.0;  // seconds

}  // namespace

int TeamSize::of(int parts) const noexcept {
  for (int i = 0; i < halvings_ && parts > 1; ++i) parts = (parts + 1) / 2;
  return parts;
}

void TeamSize::count(int threads, double seconds, double slept) noexcept {
  seconds_ += seconds;
  slept_ += slept;
  most_ += (threads - 1) * seconds;
  if (seconds_ < kWindow) return;
  const bool missing = slept_ > kMostMissing * most_;
  if (halvings_ > 0) calm_ += seconds_;
  seconds_ = slept_ = most_ = 0.0;
  if (missing) {
    ++halvings_;
    calm_ = 0.0;
  } else if (halvings_ > 0 && calm_ >= patience_) {
    --halvings_;
    calm_ = 0.0;
    patience_ = std::min(2.0 * patience_, kMostPatience);
  }
}

}  // namespace heddle
