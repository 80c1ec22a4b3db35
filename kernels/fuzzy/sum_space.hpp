// What the search spaces of sums and matrix-vector products have in common on a GPU.
#pragma once

#include <cstdint>

#include "heddle/kernels/fuzzy/problem.hpp"
#include "heddle/kernels/search_space.hpp"

namespace heddle::fuzzy {

/// "coarsen_cuts"
[[nodiscard]] Parameter cuts_parameter();
/// "ahead"
[[nodiscard]] Parameter ahead_parameter();
/// "block_size"
[[nodiscard]] Parameter block_size_parameter();
/// That coarsen_cuts divides the cuts.
[[nodiscard]] Constraint cuts_constraint();
/// That what a thread loads ahead fits into its registers.
[[nodiscard]] Constraint registers_constraint();

/// The largest number up to `most` that divides `cuts`.
[[nodiscard]] std::int64_t untuned_cuts(std::int64_t cuts, std::int64_t most);
/// Blocks of so many threads that it takes for `threads` threads.
[[nodiscard]] unsigned blocks_of_threads(std::int64_t threads, std::int64_t block_size);

}  // namespace heddle::fuzzy
