// The families "fuzzy-sum-lu", "fuzzy-sum-mr", "fuzzy-dot-lu", "fuzzy-dot-mr": the sum of an array of fuzzy numbers,
// and the dot product of two. The result is the same for every configuration and device, bit by bit but for the sign of
// a zero: sums.hpp says in which order terms are added.
//
// Axes: numbers, cuts, bits, layout. Buffers of every plan: inputs "x" and, of a dot product, "y"; output "result", one
// number; scratch "partial", where there are more than 2048 numbers. A plan has several launches on a GPU (one for each
// level of the sum), and one on a CPU.
#pragma once

#include "heddle/kernels/fuzzy/array_family.hpp"

namespace heddle::fuzzy {

[[nodiscard]] const KernelFamily& sum_family(Encoding encoding);
[[nodiscard]] const KernelFamily& dot_family(Encoding encoding);

}  // namespace heddle::fuzzy
