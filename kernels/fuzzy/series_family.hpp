// The families "fuzzy-series-lu" and "fuzzy-series-mr": c = a c + b, `terms` times, for every number of three arrays.
// The compute-bound kernel by which arithmetic on fuzzy numbers is measured; series.hpp says how it is done.
//
// Axes: numbers, terms, cuts, bits, layout. Buffers of every plan: inputs "a", "b", "c", output "result", all of the
// shape that the problem says. A plan is one launch for one sample, with these buffers, their ArrayForm, and the terms
// as std::int32_t as its arguments.
#pragma once

#include "heddle/kernels/fuzzy/problem.hpp"
#include "heddle/kernels/kernel_family.hpp"

namespace heddle::fuzzy {

[[nodiscard]] const KernelFamily& series_family(Encoding encoding);

}  // namespace heddle::fuzzy
