// Parts of a dataset: rows drawn at random, and folds of a cross-validation.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "heddle/runtime/data/dataset.hpp"

namespace heddle {

/// The rows with these indices, in this order, with the numbers that they have in the source; all else is as in `from`.
[[nodiscard]] Dataset select(const Dataset& from, std::span<const std::int32_t> rows);

/// `count` rows that the seed draws, in the data's order. Throws Error(usage) unless 1 <= count <= N.
[[nodiscard]] Dataset draw_rows(const Dataset& from, std::int64_t count, std::uint64_t seed);

/// Deals the rows out to `folds` parts as the seed says; each part has its indices in the data's order, and for classes
/// as nearly as many rows of each class as the others. Throws Error(input) for a single row, Error(usage) unless 2 <=
/// folds <= N.
[[nodiscard]] std::vector<std::vector<std::int32_t>> deal_folds(const Dataset& data, std::int64_t folds,
                                                                std::uint64_t seed);

}  // namespace heddle
