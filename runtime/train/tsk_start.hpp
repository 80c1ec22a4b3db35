// Systems to start with: an even grid of sets, or rules at the centres of clusters.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "heddle/kernels/tsk/system.hpp"

namespace heddle {

/// All combinations of `sets[j]` Gaussians spread evenly over input j, the last input's fastest; neighbours cross at
/// half their height. An input that is constant in the rows gets one set. Throws Error(usage) if that is more than
/// `most` rules.
[[nodiscard]] tsk::System grid_of_sets(std::span<const float> rows, std::vector<std::int64_t> sets, std::int64_t most);

/// `rules` rules at the centres that k-means (Lloyd 1982, from k-means++ of Arthur and Vassilvitskii 2007) finds among
/// the rows, at most 20000 of them; widths from the distance to the nearest other centre.
[[nodiscard]] tsk::System clusters(std::span<const float> rows, std::int64_t dim, std::int64_t rules,
                                   std::uint64_t seed);

}  // namespace heddle
