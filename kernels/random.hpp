// Random numbers of the workloads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace heddle {

/// SplitMix64 (Steele, Lea, Flood 2014): the standard library's distributions differ between platforms.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t bits() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// In [0, count).
  std::int64_t below(std::int64_t count) {
    return static_cast<std::int64_t>((bits() >> 33) * static_cast<std::uint64_t>(count) >> 31);
  }
  /// In [0, 1).
  double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  /// In [-1, 1).
  double symmetric() { return static_cast<double>(bits() >> 11) * 0x1p-52 - 1.0; }
  double sign() { return (bits() >> 63) != 0 ? 1.0 : -1.0; }
  template <class T>
  void shuffle(std::vector<T>& values) {
    for (std::size_t i = values.size(); i > 1; --i)
      std::swap(values[i - 1], values[static_cast<std::size_t>(below(static_cast<std::int64_t>(i)))]);
  }

 private:
  std::uint64_t state_;
};

}  // namespace heddle
