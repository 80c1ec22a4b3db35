// Small networks for verifications: one rule, sizes that divide nothing, and more rules than a warp has threads.
#pragma once

#include <array>

namespace heddle::sonfin {

/// Rules and inputs.
inline constexpr std::array<std::array<int, 2>, 9> kShapes{
    {{1, 1}, {2, 1}, {3, 1}, {5, 1}, {3, 5}, {9, 2}, {33, 17}, {64, 16}, {257, 3}}};

}  // namespace heddle::sonfin
