// The parts of an iteration of the resident scheme that its time is a sum over, as for the first network
// (sonfin/cuda/resident_terms.hpp).
#pragma once

#include <span>
#include <string_view>

#include "heddle/kernels/kernel_family.hpp"

namespace heddle::tsk {

[[nodiscard]] std::span<const std::string_view> cuda_cost_terms();

/// Of a configuration of scheme = resident; nothing to call for the others. A unit is a row in an iteration, so the
/// counts of an iteration are divided by its rows.
[[nodiscard]] TermCounts cuda_term_counts(const Configuration& configuration, int order);

}  // namespace heddle::tsk
