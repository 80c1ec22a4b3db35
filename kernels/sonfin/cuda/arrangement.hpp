// Small arithmetic of sizes that the CUDA mappings share.
#pragma once

#include <bit>
#include <cstdint>

namespace heddle::sonfin {

[[nodiscard]] constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
/// Inputs of a row with padding: four floats are one access.
[[nodiscard]] constexpr std::int64_t padded(std::int64_t inputs) { return ceil_div(inputs, 4) * 4; }
/// The largest power of two that is at most `value`, which is at least 1.
[[nodiscard]] constexpr std::int64_t power_of_two_below(std::int64_t value) {
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(value)));
}

/// The smallest power of two that is at least `value`, which is positive.
[[nodiscard]] constexpr std::int64_t power_of_two_from(std::int64_t value) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(value)));
}

}  // namespace heddle::sonfin
