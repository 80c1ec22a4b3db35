// Small arithmetic of sizes, and the layout, that the CUDA mappings share.
#pragma once

#include <bit>
#include <cstdint>

#include "heddle/kernels/common/cuda_limits.hpp"
#include "heddle/kernels/problem.hpp"
#include "heddle/kernels/sonfin/layout.hpp"

namespace heddle::sonfin {

using cuda::kWarp;

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

/// Antecedents rule after rule, their inputs padded; consequents output after output.
[[nodiscard]] inline Layout rows_of_four(const Problem& problem) {
  return {.capacity = problem.at("rules"),
          .dim = problem.at("dim"),
          .outputs = problem.at("outputs"),
          .stride = padded(problem.at("dim")),
          .target_stride = problem.at("outputs"),
          .antecedent_tile = 1,
          .consequent_tile = problem.at("rules")};
}

}  // namespace heddle::sonfin
