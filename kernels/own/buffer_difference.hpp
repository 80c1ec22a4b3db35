// How far the outputs of two configurations of a defined kernel are apart.
#pragma once

#include <cstddef>
#include <vector>

#include "heddle/kernels/own/kernel_definition.hpp"

namespace heddle {

/// The larger one of two errors: the norm of the difference as a part of the norm of `expected`; and for the worst
/// number a tenth of its difference as a part of its size, or of the root mean square of `expected` if that is larger.
/// So a single wrong number among many is found, and one that rounding moved is not: where sums are formed in another
/// order, single numbers are further off than the norm. Numbers whose bytes are equal count as equal. Infinite where a
/// number is not finite in one alone, where whole numbers differ, and for different sizes.
[[nodiscard]] double buffer_difference(ElementType type, const std::vector<std::byte>& found,
                                       const std::vector<std::byte>& expected);

}  // namespace heddle
