// Random numbers that depend on a seed and on what they are for, and on nothing drawn before.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>

namespace heddle {

/// SplitMix64 (Steele, Lea, Flood 2014), started from a seed, a purpose and a step.
class Draw {
 public:
  Draw(std::uint64_t seed, std::uint64_t purpose, std::uint64_t step) : state_(seed) {
    state_ = bits() ^ purpose;
    state_ = bits() ^ step;
    (void)bits();
  }
  std::uint64_t bits() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }
  /// In [0, 1).
  double uniform() { return static_cast<double>(bits() >> 11U) * 0x1.0p-53; }
  /// In [0, count); `count` at least 1.
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(uniform() * static_cast<double>(count)); }
  /// Mean 0, variance 1 (Box and Muller).
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }

 private:
  std::uint64_t state_;
};

}  // namespace heddle
