// A matrix times a vector of fuzzy numbers. Each row is a dot product: its blocks of 2048 columns are summed as
// sums.hpp says, and then added one after the other.
//
// A warp takes some neighbouring rows, so that what it reads of the vector serves all of them. The matrix is read into
// registers, some steps early. All warps of a block work on the same cuts and columns: they share tiles of the vector
// in shared memory, since what a thread loads from the cache waits behind all that comes from memory.
//
//   parameter  meaning
//   Array      where components of vectors lie: LowerUpperArray, MidpointRadiusArray
//   Matrix     of what: CrispElements, FuzzyElements
//   Cuts       cuts that a thread adds up; divides those of the array
//   Rows       that a warp takes
//   Ahead      steps of 32 columns that a warp reads the matrix ahead; divides the steps of a tile
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

/// Elements of a matrix of real numbers.
template <class Array, int Cuts>
struct CrispElements {
  using Element = typename Array::Real;
  static constexpr bool crisp = true;
  static constexpr int stride = 1;  ///< reals from an element to the next
  [[nodiscard]] __device__ __forceinline__ static Element load(const Element* from, long long, int i, int) {
    return from[i];
  }
};
/// Elements of a matrix of fuzzy numbers: an array, row after row.
template <class Array, int Cuts>
struct FuzzyElements {
  using Element = typename Array::template Slice<Cuts>;
  static constexpr bool crisp = false;
  static constexpr int stride = Array::place == kNumbers ? Array::components : 1;
  [[nodiscard]] __device__ __forceinline__ static Element load(const typename Array::Real* from, long long elements,
                                                               int i, int first) {
    return Array::template load<Cuts>(from, elements, i, first);
  }
};

/// The components of a slice, in the order of Tile.
template <class Array, int Cuts>
struct SliceForm;
template <class T, int AllCuts, Layout From, int Cuts>
struct SliceForm<LowerUpperArray<T, AllCuts, From>, Cuts> {
  static constexpr int components = 2 * Cuts;
  __device__ __forceinline__ static int component_of_vector(int component, int first) { return 2 * first + component; }
  __device__ __forceinline__ static LowerUpper<T, Cuts> number(const T (&component)[components]) {
    LowerUpper<T, Cuts> x;
#pragma unroll
    for (int k = 0; k < Cuts; ++k) x.set(k, {component[2 * k], component[2 * k + 1]});
    return x;
  }
};
template <class T, int AllCuts, Layout From, int Cuts>
struct SliceForm<MidpointRadiusArray<T, AllCuts, From>, Cuts> {
  static constexpr int components = 1 + Cuts;
  __device__ __forceinline__ static int component_of_vector(int component, int first) {
    return component == 0 ? 0 : first + component;
  }
  __device__ __forceinline__ static MidpointRadius<T, Cuts> number(const T (&component)[components]) {
    MidpointRadius<T, Cuts> x;
    x.midpoint = component[0];
#pragma unroll
    for (int k = 0; k < Cuts; ++k) x.radius[k] = component[1 + k];
    return x;
  }
};

constexpr int kTileSteps = 8, kTileColumns = kTileSteps * kChains;

/// Some columns of the vector in shared memory, without the cuts that the block has nothing to do with. Components lie
/// in packs of 16 bytes, which a thread reads at once, and those that are left over next to other columns' ones.
template <class Array, int Cuts, int Threads>
struct Tile {
  using T = typename Array::Real;
  using Form = SliceForm<Array, Cuts>;
  static constexpr int components = Form::components, pack = 16 / static_cast<int>(sizeof(T));
  static constexpr int packed = components / pack * pack, size = components * kTileColumns;

  __device__ __forceinline__ static int place(int component, int column) {
    return component < packed ? (component / pack * kTileColumns + column) * pack + component % pack
                              : component * kTileColumns + column;
  }
  /// Calls use(component, column) for this thread's share of the tile, in the order in which the vector lies in memory.
  template <class Use>
  __device__ __forceinline__ static void for_each_own(const Use& use) {
#pragma unroll
    for (int start = 0; start < size; start += Threads) {
      const int i = start + static_cast<int>(threadIdx.x);
      if (size % Threads != 0 && i >= size) break;
      if constexpr (Array::place == kNumbers) {
        use(i % components, i / components);
      } else {
        use(i / kTileColumns, i % kTileColumns);
      }
    }
  }
  __device__ __forceinline__ static void request(T* tile, const T* vector, long long columns, long long first_column,
                                                 int first) {
    for_each_own([&](int component, int column) {
      const int of_vector = Form::component_of_vector(component, first);
      start_grouped_copy(tile + place(component, column),
                         vector + (Array::place == kNumbers ? (first_column + column) * Array::components + of_vector
                                                            : of_vector * columns + first_column + column));
    });
    end_group();
  }
  /// Whether an infinite bound is among those that this thread requested.
  __device__ __forceinline__ static bool has_infinity(const T* tile) {
    bool found = false;
    for_each_own([&](int component, int column) {
      found = found || !(magnitude(tile[place(component, column)]) < Traits<T>::infinity);
    });
    return found;
  }
  __device__ __forceinline__ static auto number(const T* tile, int column) {
    alignas(16) T component[components];
#pragma unroll
    for (int c = 0; c < packed; c += pack) detail::copy_packed<pack, pack>(tile + place(c, column), component + c);
#pragma unroll
    for (int c = packed; c < components; ++c) component[c] = tile[place(c, column)];
    return Form::number(component);
  }
};

/// matrix: rows x columns elements; vector: `columns` numbers, of this form; result: `rows` numbers. Shared memory: two
/// tiles.
template <class Array, template <class, int> class Matrix, int Cuts, int Rows, int Ahead, int Threads>
__global__ void __launch_bounds__(Threads)
    matvec(const typename Array::Real* __restrict__ matrix, const typename Array::Real* __restrict__ vector,
           typename Array::Real* __restrict__ result, long long rows, ArrayForm form) {
  static_assert(kChainTerms % kTileSteps == 0 && kTileSteps % Ahead == 0, "steps without a rest");
  using T = typename Array::Real;
  using Number = typename Array::template Slice<Cuts>;
  using VectorTile = Tile<Array, Cuts, Threads>;
  using Elements = Matrix<Array, Cuts>;
  constexpr int words = static_cast<int>(sizeof(T) / sizeof(float));
  const RowTask<Array, Cuts, Rows, Threads> task(rows, form);
  const long long columns = task.columns, whole = columns / kBlockTerms * kBlockTerms;

  SharedMemory shared;
  T* tile = reinterpret_cast<T*>(shared.take<float>(VectorTile::size * words));
  T* next_tile = reinterpret_cast<T*>(shared.take<float>(VectorTile::size * words));
  const long long elements = rows * columns;
  const T* from[Rows];  // this lane's next elements
#pragma unroll
  for (int r = 0; r < Rows; ++r) from[r] = matrix + (task.row(r) * columns + task.lane) * Elements::stride;
  const auto element = [&](int r, int steps) { return Elements::load(from[r], elements, steps * kChains, task.first); };
  typename Elements::Element a[Ahead][Rows];
  if (whole > 0) {
    VectorTile::request(next_tile, vector, columns, 0, task.first);
#pragma unroll
    for (int k = 0; k < Ahead; ++k) {
#pragma unroll
      for (int r = 0; r < Rows; ++r) a[k][r] = element(r, k);
    }
  }

  // Adds up the columns of a tile, and reads what comes after them.
  Number sum[Rows];
  const auto add_tile = [&](long long column, const auto& add) {
#pragma unroll
    for (int step = 0; step < kTileSteps; step += Ahead) {
      const bool more = column + (step + Ahead) * kChains < whole;
#pragma unroll
      for (int k = 0; k < Ahead; ++k) {
        const Number x = VectorTile::number(tile, (step + k) * kChains + task.lane);
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
          add(sum[r], a[k][r], x);
          if (more) a[k][r] = element(r, step + k + Ahead);
        }
      }
    }
#pragma unroll
    for (int r = 0; r < Rows; ++r) from[r] += kTileColumns * Elements::stride;
  };

  Number total;  // of the row that this lane is going to store
  clear(total);
  for (long long start = 0; start < columns; start += kBlockTerms) {
#pragma unroll
    for (int r = 0; r < Rows; ++r) clear(sum[r]);
    if (start < whole) {
      for (long long column = start; column < start + kBlockTerms; column += kTileColumns) {
        T* const used = tile;
        tile = next_tile;
        next_tile = used;
        groups_arrived<0>();
        // After the barrier the tile is there, and the one before it has been used by all.
        const bool special = __syncthreads_or(Elements::crisp && VectorTile::has_infinity(tile)) != 0;
        if (column + kTileColumns < whole) {
          VectorTile::request(next_tile, vector, columns, column + kTileColumns, task.first);
        }
        if constexpr (Elements::crisp) {
          if (!special) {
            add_tile(column, [](Number& to, T element_of, const Number& x) { add_bounded_product(to, element_of, x); });
            continue;
          }
        }
        add_tile(column, [](Number& to, const auto& element_of, const Number& x) { add_product(to, element_of, x); });
      }
    } else {
      for (long long column = start + task.lane; column < columns; column += kChains) {
        const Number x = Array::template load<Cuts>(vector, columns, column, task.first);
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
          add_product(sum[r], element(r, 0), x);
          from[r] += kChains * Elements::stride;
        }
      }
    }
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

}  // namespace heddle::fuzzy
