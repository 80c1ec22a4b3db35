// The families "fuzzy-matvec-lu" and "fuzzy-matvec-mr": a matrix times a vector of fuzzy numbers. Each row is a dot
// product, whose terms are added in the order that sums.hpp says: the result is the same for every configuration and
// device, bit by bit but for the sign of a zero.
//
// Axes: rows, columns, matrix (1: real numbers of the vector's type; 2: fuzzy numbers of its form), cuts, bits, layout.
// Buffers of every plan: inputs "matrix" (row after row) and "vector", output "result". A plan is one launch for one
// sample, with these buffers, the rows as std::int64_t and the vector's ArrayForm as its arguments, whatever the
// configuration and the device.
#pragma once

#include "heddle/kernels/fuzzy/array_family.hpp"
#include "heddle/kernels/fuzzy/sum_reference.hpp"

namespace heddle::fuzzy {

[[nodiscard]] const KernelFamily& matvec_family(Encoding encoding);

}  // namespace heddle::fuzzy
