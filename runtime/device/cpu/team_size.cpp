#include "heddle/runtime/device/cpu/team_size.hpp"

#include <algorithm>

namespace heddle {
namespace {

// With two threads that are 1.5 times as fast as one, the team is slower than one thread if more is lost.
constexpr double kMostMissing = 1.0 / 3.0;
// What may be lost beyond that before it counts: several turns of another program, which takes a core for 3 or 4 ms.
constexpr double kTolerance = 0.012;  // seconds
// To find out that more threads are no use takes some 30 ms: at most a few percent of the time after it.
constexpr double kLeastPatience = 0.25, kMostPatience = 4.0;  // seconds

}  // namespace

TeamSize::TeamSize() noexcept : patience_(kLeastPatience) {}

int TeamSize::of(int parts) const noexcept {
  for (int i = 0; i < halvings_ && parts > 1; ++i) parts = (parts + 1) / 2;
  return parts;
}

void TeamSize::count(int threads, double seconds, double waited) noexcept {
  if (halvings_ > 0) calm_ += seconds;
  if (threads > 1) excess_ = std::max(0.0, excess_ + waited / (threads - 1) - kMostMissing * seconds);
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
