// Random operands of sums and products, for timing and verification.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "heddle/kernels/fuzzy/workload.hpp"

namespace heddle::fuzzy {

/// Like random_array(), with numbers of which many can be added up: all but the two widest cuts remain bounded, so that
/// their sums say something. Where there are enough cuts, sums of the widest are the whole line, and those of the next
/// overflow on the way.
[[nodiscard]] std::vector<std::byte> random_terms(const ArrayShape& shape, std::uint64_t seed, NumberKind kind,
                                                  std::int64_t period);

/// A matrix of real numbers, row after row, which repeats after `period` rows. Hostile ones have zeros, subnormal
/// numbers, large and small ones.
[[nodiscard]] std::vector<std::byte> random_matrix(std::int64_t rows, std::int64_t columns, bool is_double,
                                                   std::uint64_t seed, NumberKind kind, std::int64_t period);

}  // namespace heddle::fuzzy
