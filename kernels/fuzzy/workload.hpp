// Random arrays of fuzzy numbers, for timing and verification.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "heddle/kernels/fuzzy/problem.hpp"

namespace heddle::fuzzy {

enum class NumberKind {
  /// Of both signs, magnitudes from 0.25 to 0.75, cuts up to an eighth of that wide on either side.
  usual,
  /// One in four is usual. The others have zeros, subnormal and huge numbers, points, cuts with 0 in them, the whole
  /// line.
  hostile
};

/// The numbers of large arrays repeat with this period. A prime, so that a mapping that takes the wrong number meets
/// another one; and what is computed from one number each has to be known for a period alone.
constexpr std::int64_t kPeriod = 4093;

/// The contents of an array of this shape; its numbers repeat after `period` ones. The same arguments give the same
/// bytes. The cuts of a number lie within each other.
[[nodiscard]] std::vector<std::byte> random_array(const ArrayShape& shape, std::uint64_t seed, NumberKind kind,
                                                  std::int64_t period = kPeriod);

/// An array whose first numbers are those of `period`, an array of the same form, and then these again.
[[nodiscard]] std::vector<std::byte> repeated(const std::vector<std::byte>& period, const ArrayShape& period_shape,
                                              const ArrayShape& shape);

/// The first numbers of an array of shape `shape`, as many as `first` has; first.numbers is at most shape.numbers.
[[nodiscard]] std::vector<std::byte> first_numbers(const std::vector<std::byte>& array, const ArrayShape& shape,
                                                   const ArrayShape& first);

}  // namespace heddle::fuzzy
