// A formula for every number of some arrays, on a CPU. Compiled at run time: the source that includes this names the
// formula (map.cpp).
//
// A thread takes tiles of numbers in turn, and does one number after the other.
#pragma once

#include "heddle/kernels/common/cpu_launch.hpp"
#include "heddle/kernels/fuzzy/storage.hpp"

namespace heddle::fuzzy::cpu {

/// `arguments`: `inputs` arrays, the result, an ArrayForm.
template <class Array, int tile, int inputs, class Operation>
void each(const heddle::cpu::LaunchContext& context, void* const* arguments, const Operation& operation) {
  using T = typename Array::Real;
  constexpr int cuts = Array::count_of_cuts;
  const long long n = static_cast<const ArrayForm*>(arguments[inputs + 1])->numbers;
  const long long tiles = (n + tile - 1) / tile;
  for (long long one = context.thread; one < tiles; one += context.threads) {
    const long long end = (one + 1) * tile < n ? (one + 1) * tile : n;
    for (long long i = one * tile; i < end; ++i) {
      typename Array::template Slice<cuts> x[inputs];
      for (int input = 0; input < inputs; ++input) {
        x[input] = Array::template load<cuts>(static_cast<const T*>(arguments[input]), n, i, 0);
      }
      Array::template store<cuts>(static_cast<T*>(arguments[inputs]), n, i, 0, operation(x));
    }
  }
}

}  // namespace heddle::fuzzy::cpu
