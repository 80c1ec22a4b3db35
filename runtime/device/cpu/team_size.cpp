#include "heddle/runtime/device/cpu/team_size.hpp"

#include <algorithm>
#include <utility>

namespace heddle {
namespace {

// A program that takes a core takes it for milliseconds at a time: what was seen in less says nothing.
constexpr double kEnough = 0.03;  // seconds
constexpr double kMostWaiting = 0.5;
constexpr int kMostPatience = 64;

}  // namespace

int TeamSize::of(int parts) const noexcept {
  for (int i = 0; i < halvings_ && parts > 1; ++i) parts = (parts + 1) / 2;
  return parts;
}

void TeamSize::count(int threads, double seconds, double waited) noexcept {
  seconds_ += seconds;
  waited_ += waited;
  most_ += (threads - 1) * seconds;
}

TeamSize::Change TeamSize::adapt() noexcept {
  if (seconds_ < kEnough) return Change::none;
  seconds_ = 0.0;
  const double waited = std::exchange(waited_, 0.0), most = std::exchange(most_, 0.0);
  if (waited > kMostWaiting * most) {
    ++halvings_;
    calm_ = 0;
    return Change::fewer;
  }
  if (halvings_ == 0 || ++calm_ < patience_) return Change::none;
  patience_ = std::min(2 * patience_, kMostPatience);
  calm_ = 0;
  --halvings_;
  return Change::more;
}

}  // namespace heddle
