// What the kernels of matrix-vector products share: which rows a warp takes, and tiles of the vector in shared memory.
//
// All warps of a block work on the same cuts and columns: they share tiles of the vector in shared memory, since what a
// thread loads from the cache waits behind all that comes from memory.
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

constexpr int kTilePadding = 4;

/// Some columns of the vector in shared memory, `Steps` for each lane, without the cuts that the block has nothing to
/// do with. Components lie in packs of 16 bytes, which a thread reads at once, and those that are left over next to
/// other columns' ones.
template <class Array, int Cuts, int Threads, int Steps>
struct Tile {
  static_assert(kChainTerms % Steps == 0, "tiles without a rest");
  using T = typename Array::Real;
  using Form = SliceForm<Array, Cuts>;
  static constexpr int columns = Steps * kChains;
  static constexpr int components = Form::components, pack = 16 / static_cast<int>(sizeof(T));
  static constexpr int packs = components / pack, packed = packs * pack;
  /// From a pack of a column to its next one, in packs. Threads that copy neighbouring components of a few columns then
  /// write to different banks.
  static constexpr int pitch = columns + kTilePadding;
  static constexpr int copies = components * columns;
  /// Whole lines of 128 bytes: rings of stages follow tiles, and copies of 16 bytes to a ring that begins within a line
  /// take longer.
  static constexpr int size = copies + (packs + packs % 2) * kTilePadding * pack;
  /// From a tile to the next one in memory.
  static constexpr int stride = columns * (Array::place == kNumbers ? Array::components : 1);

  __device__ __forceinline__ static int place(int component, int column) {
    return component < packed ? (component / pack * pitch + column) * pack + component % pack
                              : packed * pitch + (component - packed) * columns + column;
  }
  /// Calls use(component, column) for this thread's share of the tile, in the order in which the vector lies in memory.
  template <class Use>
  __device__ __forceinline__ static void for_each_own(const Use& use) {
    const int thread = static_cast<int>(threadIdx.x);
    // Written so that what depends on the thread is the same in every turn: the rest are constants of the addresses.
    if constexpr (Array::place == kNumbers && Threads % components == 0 && copies % Threads == 0) {
#pragma unroll
      for (int k = 0; k < copies / Threads; ++k)
        use(thread % components, thread / components + k * (Threads / components));
    } else if constexpr (Array::place == kCuts && columns % Threads == 0) {
#pragma unroll
      for (int component = 0; component < components; ++component) {
#pragma unroll
        for (int start = 0; start < columns; start += Threads) use(component, start + thread);
      }
    } else if constexpr (Array::place == kCuts && Threads % columns == 0 && copies % Threads == 0) {
#pragma unroll
      for (int k = 0; k < copies / Threads; ++k) use(thread / columns + k * (Threads / columns), thread % columns);
    } else {
#pragma unroll
      for (int start = 0; start < copies; start += Threads) {
        const int i = start + thread;
        if (copies % Threads != 0 && i >= copies) break;
        if constexpr (Array::place == kNumbers) {
          use(i % components, i / components);
        } else {
          use(i / columns, i % columns);
        }
      }
    }
  }
  /// Starts the copies of this thread's share, as a part of its present group. `from`: the tile's first column in a
  /// vector of `numbers` numbers.
  __device__ __forceinline__ static void request(T* tile, const T* from, long long numbers, int first) {
    for_each_own([&](int component, int column) {
      const int of_vector = Form::component_of_vector(component, first);
      start_grouped_copy(
          tile + place(component, column),
          from + (Array::place == kNumbers ? column * Array::components + of_vector : of_vector * numbers + column));
    });
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

/// Adds up this lane's part of the block from column `start` on once more, from memory and with add_product(), if the
/// lane did not add up all of it with add_usual_product() (`is_usual`), or if that made a sum no number.
/// `element(r, column)`: of row r of the warp.
template <class Array, int Cuts, int Rows, int Threads, class Element>
__device__ __forceinline__ void sum_unless_usual(bool is_usual, typename Array::template Slice<Cuts> (&sum)[Rows],
                                                 const typename Array::Real* vector, long long start,
                                                 const RowTask<Array, Cuts, Rows, Threads>& task,
                                                 const Element& element) {
#pragma unroll
  for (int r = 0; r < Rows; ++r) is_usual = is_usual && has_numbers(sum[r]);
  if (is_usual) return;
#pragma unroll
  for (int r = 0; r < Rows; ++r) clear(sum[r]);
  const long long rest = task.columns - start, end = start + (rest < kBlockTerms ? rest : kBlockTerms);
  for (long long column = start + task.lane; column < end; column += kChains) {
    const auto x = Array::template load<Cuts>(vector, task.columns, column, task.first);
#pragma unroll
    for (int r = 0; r < Rows; ++r) add_product(sum[r], element(r, column), x);
  }
}

/// Adds the sums of a block of columns to the totals. Which lane has that of which row: see sum_of_row().
template <class Number, int Rows>
__device__ __forceinline__ void add_block(Number& total, const Number (&sum)[Rows], int lane) {
  add_term(total, sum_of_row(sum, lane));
}
/// Stores the totals.
template <class Array, int Cuts, int Rows, int Threads, class Number>
__device__ __forceinline__ void store_totals(typename Array::Real* result,
                                             const RowTask<Array, Cuts, Rows, Threads>& task, const Number& total) {
  constexpr int lanes = kWarp / Rows;
  const long long row = task.first_row + task.lane / lanes;
  if (task.lane % lanes == 0 && row < task.rows) {
    Array::template store<Cuts>(result, task.rows, row, task.first, closed_sum(total));
  }
}

}  // namespace heddle::fuzzy
