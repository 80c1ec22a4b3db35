// How far the outputs of two configurations of a defined kernel are apart.
#pragma once

#include <cstddef>
#include <vector>

#include "heddle/kernels/own/kernel_definition.hpp"

namespace heddle {

/// The norm of the difference as a part of the norm of `expected`; numbers whose bytes are equal count as equal.
/// Infinite where a number is not finite in one alone, where whole numbers differ, and for different sizes.
[[nodiscard]] double buffer_difference(ElementType type, const std::vector<std::byte>& found,
                                       const std::vector<std::byte>& expected);

}  // namespace heddle
