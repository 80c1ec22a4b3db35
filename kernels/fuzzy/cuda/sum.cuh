// One level of a sum or dot product of fuzzy numbers: each block of 2048 terms becomes one number (sums.hpp). The
// numbers of one level are the terms of the next, until one is left.
//
// A warp adds up one block, for some neighbouring cuts of its numbers; the warps of a block's other cuts are next to
// it, so that they find in the cache what they read together.
//
//   parameter  meaning
//   Array      where components lie: LowerUpperArray, MidpointRadiusArray
//   Cuts       cuts that a thread adds up; divides those of the array
//   Ahead      terms that a thread loads before it adds them up; divides 64
//   Threads    of a block
#pragma once

#include "heddle/kernels/fuzzy/cuda/chains.cuh"
#include "heddle/kernels/fuzzy/storage.hpp"

namespace heddle::fuzzy {

/// The numbers of an array.
template <class Array, int Cuts>
struct ArrayTerms {
  using Real = typename Array::Real;
  using Number = typename Array::template Slice<Cuts>;
  using Term = Number;

  const Real* x;
  long long n;

  __device__ __forceinline__ Term load(long long i, int first) const {
    return Array::template load<Cuts>(x, n, i, first);
  }
  __device__ __forceinline__ static void add(Number& sum, const Term& term) { add_term(sum, term); }
};

/// The products of the numbers of two arrays.
template <class Array, int Cuts>
struct ProductTerms {
  using Real = typename Array::Real;
  using Number = typename Array::template Slice<Cuts>;
  struct Term {
    Number x, y;
  };

  const Real* x;
  const Real* y;
  long long n;

  __device__ __forceinline__ Term load(long long i, int first) const {
    return {Array::template load<Cuts>(x, n, i, first), Array::template load<Cuts>(y, n, i, first)};
  }
  __device__ __forceinline__ static void add(Number& sum, const Term& term) { add_product(sum, term.x, term.y); }
};

template <class Array, int Cuts, int Ahead, int Threads, class Terms>
__device__ __forceinline__ void add_up_blocks(const Terms& terms, typename Array::Real* sums) {
  static_assert(Array::count_of_cuts % Cuts == 0 && kChainTerms % Ahead == 0 && Threads % kWarp == 0,
                "parts without a rest");
  constexpr int groups = Array::count_of_cuts / Cuts;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const long long task = static_cast<long long>(blockIdx.x) * (Threads / kWarp) + threadIdx.x / kWarp;
  const long long block = task / groups, blocks = blocks_of(terms.n);
  if (block >= blocks) return;
  const int first = static_cast<int>(task % groups) * Cuts;

  typename Terms::Number sum;
  clear(sum);
  long long i = block * kBlockTerms + lane;
  if (terms.n - block * kBlockTerms >= kBlockTerms) {
    for (int step = 0; step < kChainTerms; step += Ahead) {
      typename Terms::Term term[Ahead];
#pragma unroll
      for (int k = 0; k < Ahead; ++k) term[k] = terms.load(i + k * kChains, first);
#pragma unroll
      for (int k = 0; k < Ahead; ++k) Terms::add(sum, term[k]);
      i += Ahead * kChains;
    }
  } else {
    for (; i < terms.n; i += kChains) Terms::add(sum, terms.load(i, first));
  }
  sum = sum_of_chains(sum);
  if (lane == 0) Array::template store<Cuts>(sums, blocks, block, first, sum);
}

/// x: n numbers; sums: a number for each block of them.
template <class Array, int Cuts, int Ahead, int Threads>
__global__ void __launch_bounds__(Threads)
    sum(const typename Array::Real* __restrict__ x, typename Array::Real* __restrict__ sums, long long n) {
  add_up_blocks<Array, Cuts, Ahead, Threads>(ArrayTerms<Array, Cuts>{x, n}, sums);
}

/// The same for the products of x and y.
template <class Array, int Cuts, int Ahead, int Threads>
__global__ void __launch_bounds__(Threads)
    dot(const typename Array::Real* __restrict__ x, const typename Array::Real* __restrict__ y,
        typename Array::Real* __restrict__ sums, long long n) {
  add_up_blocks<Array, Cuts, Ahead, Threads>(ProductTerms<Array, Cuts>{x, y, n}, sums);
}

}  // namespace heddle::fuzzy
