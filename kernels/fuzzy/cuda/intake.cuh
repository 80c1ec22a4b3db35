// Numbers that a program has in the device's memory already: brought to where arrays of fuzzy numbers have them, and
// looked at.
#pragma once

#include "heddle/kernels/fuzzy/faults.hpp"
#include "heddle/kernels/fuzzy/given_table.hpp"

namespace heddle::fuzzy {

/// Component first + step * column of row after row gets the real of that column.
template <class T, int block>
__global__ void __launch_bounds__(block) gather(const unsigned char* __restrict__ from, GivenTable table,
                                                T* __restrict__ to, int components, int first, int step) {
  const long long count = table.rows * table.columns, all = static_cast<long long>(gridDim.x) * block;
  for (long long i = static_cast<long long>(blockIdx.x) * block + threadIdx.x; i < count; i += all) {
    const long long row = i / table.columns, column = i % table.columns;
    to[row * components + first + step * column] =
        *reinterpret_cast<const T*>(from + table.start + row * table.row_stride + column * table.column_stride);
  }
}

/// Lowers *first to the number of the first row that a rule finds a fault in.
template <class Rule, class T, int block>
__global__ void __launch_bounds__(block)
    find_fault(const T* __restrict__ rows, long long count, int components, unsigned long long* first) {
  const long long all = static_cast<long long>(gridDim.x) * block;
  for (long long i = static_cast<long long>(blockIdx.x) * block + threadIdx.x; i < count; i += all) {
    if (Rule::fault(rows + i * components, components) == nullptr) continue;
    atomicMin(first, static_cast<unsigned long long>(i));
    return;  // those that come later in this thread are behind it
  }
}

}  // namespace heddle::fuzzy
