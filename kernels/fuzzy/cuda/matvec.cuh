// A matrix times a vector of fuzzy numbers. Each row is a dot product: its blocks of 2048 columns are summed as
// sums.hpp says, and then added one after the other.
//
// A warp takes some neighbouring rows, so that what it reads of the vector serves all of them. All warps of a block
// work on the same cuts and, nearly, on the same columns. A matrix of real numbers and the vector pass through shared
// memory: what a thread loads from the cache waits behind all that comes from memory.
//
//   parameter  meaning
//   Array      where components of vectors lie: LowerUpperArray, MidpointRadiusArray
//   Cuts       cuts that a thread adds up; divides those of the array
//   Rows       that a warp takes
//   Ahead      steps of 32 columns that a warp reads the matrix ahead; divides 64
//   Threads    of a block
#pragma once

#include "heddle/kernels/common/copies.cuh"
#include "heddle/kernels/fuzzy/cuda/chains.cuh"
#include "heddle/kernels/fuzzy/storage.hpp"

namespace heddle::fuzzy {

/// A warp's part of the work.
template <class Array, int Cuts, int Rows, int Threads>
struct RowTask {
  static_assert(Array::count_of_cuts % Cuts == 0 && Threads % kWarp == 0 && Rows <= kWarp, "parts without a rest");
  static constexpr int groups = Array::count_of_cuts / Cuts;
  using Number = typename Array::template Slice<Cuts>;

  long long rows, columns, first_row;
  int lane, first;  ///< first: of the cuts

  __device__ __forceinline__ RowTask(long long all_rows, const ArrayForm& vector)
      : rows(all_rows), columns(vector.numbers), lane(static_cast<int>(threadIdx.x) % kWarp) {
    constexpr int warps = Threads / kWarp;
    first = static_cast<int>(blockIdx.x % groups) * Cuts;
    first_row = (static_cast<long long>(blockIdx.x / groups) * warps + threadIdx.x / kWarp) * Rows;
  }
  /// Row r of the warp's rows. In place of those beyond the end the last one, whose result is not stored.
  [[nodiscard]] __device__ __forceinline__ long long row(int r) const {
    return first_row + r < rows ? first_row + r : rows - 1;
  }
};

/// `add_block(sum, start)` adds to sum[r] the terms of row r in the block of columns from `start` on.
template <class Array, int Cuts, int Rows, int Threads, class AddBlock>
__device__ __forceinline__ void add_up_rows(const RowTask<Array, Cuts, Rows, Threads>& task,
                                            typename Array::Real* result, const AddBlock& add_block) {
  using Number = typename Array::template Slice<Cuts>;
  Number total;  // of the row that this lane is going to store
  clear(total);
  for (long long start = 0; start < task.columns; start += kBlockTerms) {
    Number sum[Rows];
#pragma unroll
    for (int r = 0; r < Rows; ++r) clear(sum[r]);
    add_block(sum, start);
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      const Number of_block = of_first_lane(sum_of_chains(sum[r]));
      if (task.lane == r) add_term(total, of_block);
    }
  }
  if (task.lane < Rows && task.first_row + task.lane < task.rows) {
    Array::template store<Cuts>(result, task.rows, task.first_row + task.lane, task.first, closed_sum(total));
  }
}

/// sum[r] <- sum[r] + a[r] x. One question for all rows, whether zeros among them matter.
template <int Rows, class Number>
__device__ __forceinline__ void add_products(Number (&sum)[Rows], const typename Number::Real (&a)[Rows],
                                             const Number& x) {
  if (is_bounded(x)) {
#pragma unroll
    for (int r = 0; r < Rows; ++r) add_bounded_product(sum[r], a[r], x);
  } else {
#pragma unroll
    for (int r = 0; r < Rows; ++r) add_product(sum[r], a[r], x);
  }
}

/// Some columns of a vector in shared memory: an array of their cuts `first` to `first` + Cuts - 1.
template <class Array, int Cuts>
struct Tile;
template <class T, int AllCuts, Layout From, int Cuts>
struct Tile<LowerUpperArray<T, AllCuts, From>, Cuts> : LowerUpperArray<T, Cuts, kCuts> {
  __device__ __forceinline__ static int component_of_vector(int component, int first) { return 2 * first + component; }
};
template <class T, int AllCuts, Layout From, int Cuts>
struct Tile<MidpointRadiusArray<T, AllCuts, From>, Cuts> : MidpointRadiusArray<T, Cuts, kCuts> {
  __device__ __forceinline__ static int component_of_vector(int component, int first) {
    return component == 0 ? 0 : first + component;
  }
};

/// matrix: real numbers, rows x columns; vector: `columns` numbers, of this form; result: `rows` numbers. Shared
/// memory: Ahead x Rows real numbers for each thread, and two tiles of Ahead x 32 numbers of Cuts cuts.
template <class Array, int Cuts, int Rows, int Ahead, int Threads>
__global__ void __launch_bounds__(Threads)
    crisp_matvec(const typename Array::Real* __restrict__ matrix, const typename Array::Real* __restrict__ vector,
                 typename Array::Real* __restrict__ result, long long rows, ArrayForm form) {
  static_assert(kChainTerms % Ahead == 0, "steps without a rest");
  using T = typename Array::Real;
  using Number = typename Array::template Slice<Cuts>;
  using VectorTile = Tile<Array, Cuts>;
  constexpr int words = static_cast<int>(sizeof(T) / sizeof(float)), tile_columns = Ahead * kChains;
  const RowTask<Array, Cuts, Rows, Threads> task(rows, form);
  const long long columns = task.columns, whole = columns / kBlockTerms * kBlockTerms;

  // A thread copies the elements that it is going to use, into places of its own. It uses a step's elements and then
  // replaces them, so that Ahead steps are on their way all the time.
  SharedMemory shared;
  T* const own = reinterpret_cast<T*>(shared.take<float>(Ahead * Rows * Threads * words)) + threadIdx.x;
  const auto place = [&](int k, int r) { return own + (k * Rows + r) * Threads; };
  const T* from[Rows];
#pragma unroll
  for (int r = 0; r < Rows; ++r) from[r] = matrix + task.row(r) * columns + task.lane;
  const auto request = [&](int k, int steps) {
#pragma unroll
    for (int r = 0; r < Rows; ++r) start_grouped_copy(place(k, r), from[r] + steps * kChains);
  };
  // The block's threads share out the next tile of the vector, which is requested with the first step of this one.
  T* const tiles = reinterpret_cast<T*>(shared.take<float>(2 * VectorTile::components * tile_columns * words));
  const auto tile = [&](int parity) { return tiles + parity * (VectorTile::components * tile_columns); };
  const auto request_tile = [&](int parity, long long first_column) {
    for (int i = static_cast<int>(threadIdx.x); i < VectorTile::components * tile_columns; i += Threads) {
      const int component = VectorTile::component_of_vector(i / tile_columns, task.first);
      const long long column = first_column + i % tile_columns;
      start_grouped_copy(tile(parity) + i, vector + (Array::place == kNumbers ? column * Array::components + component
                                                                              : component * columns + column));
    }
  };
  if (whole > 0) request_tile(0, 0);
#pragma unroll
  for (int k = 0; k < Ahead; ++k) {
    if (whole > 0) request(k, k);
    end_group();
  }
  int parity = 0;

  add_up_rows(task, result, [&](Number(&sum)[Rows], long long start) {
    if (start < whole) {
      for (int step = 0; step < kChainTerms; step += Ahead) {
        const long long next = start + (step + Ahead) * kChains;
        const bool more = next < whole;
#pragma unroll
        for (int k = 0; k < Ahead; ++k) {
          groups_arrived<Ahead - 1>();
          if (k == 0) {
            __syncthreads();  // this tile is there, and the one before it has been used by all
            if (more) request_tile(1 - parity, next);
          }
          const Number x = VectorTile::template load<Cuts>(tile(parity), tile_columns, k * kChains + task.lane, 0);
          T a[Rows];
#pragma unroll
          for (int r = 0; r < Rows; ++r) a[r] = *place(k, r);
          add_products(sum, a, x);
          if (more) request(k, k + Ahead);
          end_group();
        }
        parity = 1 - parity;
#pragma unroll
        for (int r = 0; r < Rows; ++r) from[r] += tile_columns;
      }
    } else {
      for (long long column = start + task.lane; column < columns; column += kChains) {
        T a[Rows];
#pragma unroll
        for (int r = 0; r < Rows; ++r) a[r] = matrix[task.row(r) * columns + column];
        add_products(sum, a, Array::template load<Cuts>(vector, columns, column, task.first));
      }
    }
  });
}

/// The same for a matrix of fuzzy numbers: an array, row after row.
template <class Array, int Cuts, int Rows, int Ahead, int Threads>
__global__ void __launch_bounds__(Threads)
    fuzzy_matvec(const typename Array::Real* __restrict__ matrix, const typename Array::Real* __restrict__ vector,
                 typename Array::Real* __restrict__ result, long long rows, ArrayForm form) {
  static_assert(kChainTerms % Ahead == 0, "steps without a rest");
  using Number = typename Array::template Slice<Cuts>;
  const RowTask<Array, Cuts, Rows, Threads> task(rows, form);
  const long long columns = task.columns;
  const auto element = [&](int r, long long column) {
    return Array::template load<Cuts>(matrix, rows * columns, task.row(r) * columns + column, task.first);
  };
  const auto x_at = [&](long long column) { return Array::template load<Cuts>(vector, columns, column, task.first); };

  add_up_rows(task, result, [&](Number(&sum)[Rows], long long start) {
    long long column = start + task.lane;
    if (columns - start >= kBlockTerms) {
      for (int step = 0; step < kChainTerms; step += Ahead) {
        Number a[Ahead][Rows], x[Ahead];
#pragma unroll
        for (int k = 0; k < Ahead; ++k) {
#pragma unroll
          for (int r = 0; r < Rows; ++r) a[k][r] = element(r, column + k * kChains);
          x[k] = x_at(column + k * kChains);
        }
#pragma unroll
        for (int k = 0; k < Ahead; ++k) {
#pragma unroll
          for (int r = 0; r < Rows; ++r) add_product(sum[r], a[k][r], x[k]);
        }
        column += Ahead * kChains;
      }
    } else {
      for (; column < columns; column += kChains) {
        const Number x = x_at(column);
#pragma unroll
        for (int r = 0; r < Rows; ++r) add_product(sum[r], element(r, column), x);
      }
    }
    __syncthreads();  // warps that read the same part of the vector find it in the cache
  });
}

}  // namespace heddle::fuzzy
