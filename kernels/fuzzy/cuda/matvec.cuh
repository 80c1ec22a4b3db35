// A matrix times a vector of fuzzy numbers. Each row is a dot product: its blocks of 2048 columns are summed as
// sums.hpp says, and then added one after the other.
//
// A warp takes some neighbouring rows, so that what it reads of the vector serves all of them. The warps of a block are
// at the same block of columns, whose part of the vector stays in the cache.
//
//   parameter  meaning
//   Matrix     CrispMatrix or FuzzyMatrix
//   Array      where components of vectors lie: LowerUpperArray, MidpointRadiusArray
//   Cuts       cuts that a thread adds up; divides those of the array
//   Rows       that a warp takes
//   Ahead      steps of 32 columns that a warp loads ahead; divides 64
//   Threads    of a block
#pragma once

#include "heddle/kernels/fuzzy/cuda/chains.cuh"
#include "heddle/kernels/fuzzy/storage.hpp"

namespace heddle::fuzzy {

/// A matrix of real numbers, row after row.
template <class T>
struct CrispMatrix {
  template <int Cuts>
  using Element = T;
  template <int Cuts>
  __device__ __forceinline__ static T load(const T* matrix, long long, long long i, int) {
    return __ldcs(matrix + i);  // read once: it need not stay in the cache
  }
  /// sum[r] <- sum[r] + a[r] x. One question for all rows, whether zeros among them matter.
  template <int Rows, class Number>
  __device__ __forceinline__ static void add_products(Number (&sum)[Rows], const T (&a)[Rows], const Number& x) {
    if (is_bounded(x)) {
#pragma unroll
      for (int r = 0; r < Rows; ++r) add_bounded_product(sum[r], a[r], x);
    } else {
#pragma unroll
      for (int r = 0; r < Rows; ++r) add_product(sum[r], a[r], x);
    }
  }
};

/// A matrix of fuzzy numbers: an array, row after row.
template <class Array>
struct FuzzyMatrix {
  template <int Cuts>
  using Element = typename Array::template Slice<Cuts>;
  template <int Cuts>
  __device__ __forceinline__ static Element<Cuts> load(const typename Array::Real* matrix, long long elements,
                                                       long long i, int first) {
    return Array::template load<Cuts>(matrix, elements, i, first);
  }
  template <int Rows, class Number>
  __device__ __forceinline__ static void add_products(Number (&sum)[Rows], const Number (&a)[Rows], const Number& x) {
#pragma unroll
    for (int r = 0; r < Rows; ++r) add_product(sum[r], a[r], x);
  }
};

/// matrix: rows x columns; vector: `columns` numbers, of this form; result: `rows` numbers.
template <class Matrix, class Array, int Cuts, int Rows, int Ahead, int Threads>
__global__ void __launch_bounds__(Threads)
    matvec(const typename Array::Real* __restrict__ matrix, const typename Array::Real* __restrict__ vector,
           typename Array::Real* __restrict__ result, long long rows, ArrayForm form) {
  static_assert(Array::count_of_cuts % Cuts == 0 && kChainTerms % Ahead == 0 && Threads % kWarp == 0 && Rows <= kWarp,
                "parts without a rest");
  using Number = typename Array::template Slice<Cuts>;
  using Element = typename Matrix::template Element<Cuts>;
  constexpr int groups = Array::count_of_cuts / Cuts;
  const long long columns = form.numbers;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const long long task = static_cast<long long>(blockIdx.x) * (Threads / kWarp) + threadIdx.x / kWarp;
  const int first = static_cast<int>(task % groups) * Cuts;
  const long long first_row = task / groups * Rows;
  const auto element = [&](int r, long long column) {
    const long long row = first_row + r < rows ? first_row + r : rows - 1;  // its result is not stored
    return Matrix::template load<Cuts>(matrix, rows * columns, row * columns + column, first);
  };

  const long long whole = columns / kBlockTerms * kBlockTerms;  // columns of blocks that are full

  // What is read of the matrix in a step is used Ahead steps later, and then replaced: that many loads are on their way
  // all the time.
  Element a[Ahead][Rows];
  if (whole > 0) {
#pragma unroll
    for (int k = 0; k < Ahead; ++k) {
#pragma unroll
      for (int r = 0; r < Rows; ++r) a[k][r] = element(r, lane + k * kChains);
    }
  }
  Number total;  // of the row that this lane is going to store
  clear(total);
  for (long long start = 0; start < columns; start += kBlockTerms) {
    Number sum[Rows];
#pragma unroll
    for (int r = 0; r < Rows; ++r) clear(sum[r]);
    long long column = start + lane;
    if (start < whole) {
      for (int step = 0; step < kChainTerms; step += Ahead) {
#pragma unroll
        for (int k = 0; k < Ahead; ++k) {
          const Number x = Array::template load<Cuts>(vector, columns, column, first);
          Matrix::template add_products<Rows>(sum, a[k], x);
          const long long next = column + Ahead * kChains;
          if (next < whole) {
#pragma unroll
            for (int r = 0; r < Rows; ++r) a[k][r] = element(r, next);
          }
          column += kChains;
        }
      }
    } else {
      for (; column < columns; column += kChains) {
        const Number x = Array::template load<Cuts>(vector, columns, column, first);
#pragma unroll
        for (int r = 0; r < Rows; ++r) add_product(sum[r], element(r, column), x);
      }
    }
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      const Number of_block = of_first_lane(sum_of_chains(sum[r]));
      if (lane == r) add_term(total, of_block);
    }
    __syncthreads();
  }
  if (lane < Rows && first_row + lane < rows) {
    Array::template store<Cuts>(result, rows, first_row + lane, first, closed_sum(total));
  }
}

}  // namespace heddle::fuzzy
