// Fuzzy arrays on the host: their layouts, and whether they hold fuzzy numbers at all.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "heddle/kernels/fuzzy/problem.hpp"

namespace heddle::fuzzy {

/// The array, which has the layout of its shape, in another one.
[[nodiscard]] std::vector<std::byte> in_layout(std::span<const std::byte> array, ArrayShape shape, Layout layout);

/// Throws Error(input) with the position, from 0, of the first that is no fuzzy number: nan, a lower bound above the
/// upper one, cuts that are not nested, a radius below 0, an infinite midpoint. `array` has layout kNumbers. `first`:
/// the position of its first number, where it is a part of another array.
void require_fuzzy_numbers(std::span<const std::byte> array, const ArrayShape& shape, std::int64_t first = 0);

}  // namespace heddle::fuzzy
