// The series c = a c + b, `terms` times, for every number of three arrays: series.hpp. The mapping: elementwise.cuh.
#pragma once

#include "heddle/kernels/fuzzy/cuda/elementwise.cuh"
#include "heddle/kernels/fuzzy/series.hpp"

namespace heddle::fuzzy {

struct SeriesOf {
  int terms;

  template <class Slice>
  __device__ __forceinline__ Slice operator()(const Slice (&x)[3]) const {
    return series(x[0], x[1], x[2], terms);
  }
};

template <class Array, int count, int vector, int coarsen, int block>
__global__ void __launch_bounds__(block)
    series_of(const void* a, const void* b, const void* c, void* result, ArrayForm form, int terms) {
  const void* const arrays[] = {a, b, c};
  each<Array, count, vector, coarsen, block>(arrays, result, form.numbers, SeriesOf{terms});
}

}  // namespace heddle::fuzzy
