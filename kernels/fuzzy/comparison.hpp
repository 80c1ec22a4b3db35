// Whether a kernel's arrays are those of the number types.
#pragma once

#include <cstdint>

#include "heddle/kernels/plan.hpp"
#include "heddle/kernels/verification.hpp"

namespace heddle::fuzzy {

/// Compares every buffer in `expected` with that of the same name in `found`: reals of `bits` bits, which have to be
/// the same bit by bit, but for the sign of a zero. The error of an array that differs is infinite.
[[nodiscard]] Accuracy compare_bits(const HostImage& found, const HostImage& expected, std::int64_t bits);

}  // namespace heddle::fuzzy
