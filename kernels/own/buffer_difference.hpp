// How far the outputs of a defined kernel are from those that are expected.
#pragma once

#include <cstddef>
#include <vector>

#include "heddle/kernels/own/kernel_definition.hpp"

namespace heddle {

/// The larger one of two errors:
///
/// - the norm of the difference, relative to the norm of `expected`;
/// - of the worst number a tenth of its difference, relative to its size or to the root mean square of `expected`,
///   whichever is larger. This finds a single wrong number among many. The tenth is for sums that are formed in another
///   order: rounding moves some of them further than the norm.
///
/// Numbers whose bytes are equal count as equal, and so do those that are at most `absolute` apart. Infinite where a
/// number is finite in only one of the two, where whole numbers differ, and for different sizes.
[[nodiscard]] double buffer_difference(ElementType type, const std::vector<std::byte>& found,
                                       const std::vector<std::byte>& expected, double absolute = 0.0);

}  // namespace heddle
