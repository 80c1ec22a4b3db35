// The order of what a launch may do in any order.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heddle::emulator {

/// Decides what comes next: seed 0 takes what has waited longest, any other draws.
class Order {
 public:
  explicit Order(std::uint64_t seed) : state_(seed) {}
  /// From 0 to count - 1; 0 if the seed is 0.
  [[nodiscard]] std::size_t draw(std::size_t count);

 private:
  std::uint64_t state_;
};

}  // namespace heddle::emulator
