// What a step of a resident scheme takes, as a sum of what it does: a model good enough to tell which of several
// configurations is the fastest at sizes where none of them was measured.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "heddle/kernels/sonfin/cuda/resident_shape.hpp"

namespace heddle::sonfin {

inline constexpr std::size_t kResidentTerms = 21;

/// Counts of what a step does, each of which takes its time; resident_estimate() weighs them.
[[nodiscard]] std::array<double, kResidentTerms> resident_terms(const ResidentShape& shape);
/// What is counted; empty where a link has no more of them.
[[nodiscard]] std::array<std::string_view, kResidentTerms> resident_term_names(ResidentShape::Link link);

/// Microseconds per sample, with weights fitted to what was measured on an H200 (bench/fit_estimate.cpp).
[[nodiscard]] double resident_estimate(const ResidentShape& shape);

}  // namespace heddle::sonfin
