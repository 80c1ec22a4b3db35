// One operation on every number of some arrays: the i-th number of the result comes from the i-th of every input.
//
// The work is a matrix of numbers x slices, where a slice is `count` neighbouring cuts of a number. A task is a slice
// of one number, or of `vector` neighbouring ones. Neighbouring threads take neighbouring memory:
//
//   layout   tasks
//   numbers  the slices of the first number, those of the second one, ...
//   cuts     blockIdx.y is the slice; the numbers one after the other
//
//   parameter  meaning
//   Array      the form of all arrays, see storage.hpp
//   count      cuts of a slice; divides the cuts of a number
//   vector     numbers of a task; more than 1 only in the layout "cuts", where it divides the numbers
//   coarsen    tasks of a thread; all of them are loaded before the first is computed
//   block      threads of a block
#pragma once

#include "heddle/kernels/fuzzy/storage.hpp"

namespace heddle::fuzzy {

/// `operation(x)`: the result for the slices x[0], x[1], ..., one of each input.
template <class Array, int count, int vector, int coarsen, int block, int inputs, class Operation>
__device__ __forceinline__ void each(const void* const (&arrays)[inputs], void* result, long long numbers,
                                     const Operation& operation) {
  using T = typename Array::Real;
  using Slice = typename Array::template Slice<count>;
  constexpr int slices = Array::count_of_cuts / count;
  static_assert(slices * count == Array::count_of_cuts, "slices of one size");
  static_assert(vector == 1 || Array::place == kCuts, "only there neighbouring numbers are neighbours in memory");

  const long long tasks = Array::place == kNumbers ? numbers * slices : numbers / vector;
  const long long first = static_cast<long long>(blockIdx.x) * (block * coarsen) + threadIdx.x;
  Slice x[coarsen][vector][inputs];
#pragma unroll
  for (int k = 0; k < coarsen; ++k) {
    const long long task = first + k * block;
    if (task >= tasks) break;
    const long long i = Array::place == kNumbers ? task / slices : task * vector;
    const int cut = Array::place == kNumbers ? static_cast<int>(task % slices) * count : blockIdx.y * count;
#pragma unroll
    for (int input = 0; input < inputs; ++input) {
      const T* const array = static_cast<const T*>(arrays[input]);
      Slice own[vector];
      Array::template load_some<vector>(array, numbers, i, cut, own);
#pragma unroll
      for (int v = 0; v < vector; ++v) x[k][v][input] = own[v];
    }
  }
#pragma unroll
  for (int k = 0; k < coarsen; ++k) {
    const long long task = first + k * block;
    if (task >= tasks) break;
    const long long i = Array::place == kNumbers ? task / slices : task * vector;
    const int cut = Array::place == kNumbers ? static_cast<int>(task % slices) * count : blockIdx.y * count;
    Slice own[vector];
#pragma unroll
    for (int v = 0; v < vector; ++v) own[v] = operation(x[k][v]);
    Array::template store_some<vector>(static_cast<T*>(result), numbers, i, cut, own);
  }
}

}  // namespace heddle::fuzzy
