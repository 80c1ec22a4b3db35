// A matrix of real numbers times a vector of fuzzy ones: matvec.cuh.
//
// The matrix goes through shared memory: each warp has a ring of stages there, and copies what it is going to need
// without holding up its threads. Registers would not do, because a thread waits for its loads by a handful of
// counters: the compiler gives many loads one counter, and the first use of any waits for all of them.
#pragma once

#include "heddle/kernels/fuzzy/cuda/vector_tile.cuh"

namespace heddle::fuzzy {

/// A warp's ring of stages. In a stage each row has `steps` elements for each lane, 32 columns apart.
template <class T, int Rows, int Ahead>
struct StageRing {
  static constexpr int steps = 4, wide_reals = 16 / static_cast<int>(sizeof(T));
  static constexpr int stages = Ahead / steps, of_row = steps * kChains, size = stages * Rows * of_row;
  static_assert(Ahead % kTileSteps == 0 && kTileSteps % steps == 0, "stages without a rest");

  /// Starts the copy of a row's part of a stage, from the columns that `from` points at. `wide`: rows begin on a
  /// multiple of 16 bytes.
  __device__ __forceinline__ static void request(T* to, const T* from, int lane, bool wide) {
    if (wide) {
#pragma unroll
      for (int k = 0; k < of_row; k += kWarp * wide_reals) {
        start_wide_grouped_copy(to + k + lane * wide_reals, from + k + lane * wide_reals);
      }
    } else {
#pragma unroll
      for (int k = 0; k < steps; ++k) start_grouped_copy(to + k * kChains + lane, from + k * kChains + lane);
    }
  }
};

/// matrix: rows x columns elements; vector: `columns` numbers, of this form; result: `rows` numbers. Shared memory:
/// 1 + Ahead / 8 tiles of the vector, and a ring for each warp.
template <class Array, int Cuts, int Rows, int Ahead, int Threads, int Products>
__global__ void __launch_bounds__(Threads)
    real_matvec(const typename Array::Real* __restrict__ matrix, const typename Array::Real* __restrict__ vector,
                typename Array::Real* __restrict__ result, long long rows, ArrayForm form) {
  using T = typename Array::Real;
  using Number = typename Array::template Slice<Cuts>;
  using VectorTile = Tile<Array, Cuts, Threads>;
  using Ring = StageRing<T, Rows, Ahead>;
  constexpr int words = static_cast<int>(sizeof(T) / sizeof(float)), warps = Threads / kWarp;
  constexpr int of_tile = kTileSteps / Ring::steps;  // stages
  constexpr int tiles_ahead = Ahead / kTileSteps, tiles = tiles_ahead + 1;
  const RowTask<Array, Cuts, Rows, Threads> task(rows, form);
  const long long columns = task.columns, whole = columns / kBlockTerms * kBlockTerms;
  const bool wide = columns % Ring::wide_reals == 0;

  SharedMemory shared;
  T* const vector_tiles = reinterpret_cast<T*>(shared.take<float>(tiles * VectorTile::size * words));
  T* const ring = reinterpret_cast<T*>(shared.take<float>(warps * Ring::size * words)) +
                  static_cast<int>(threadIdx.x) / kWarp * Ring::size;
  const T* row[Rows];
#pragma unroll
  for (int r = 0; r < Rows; ++r) row[r] = matrix + task.row(r) * columns;
  // A stage's copies are a group; so that groups can be counted, those beyond the last column are empty ones.
  const auto request_stage = [&](int slot, long long column) {
    if (column < whole) {
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
        Ring::request(ring + (slot * Rows + r) * Ring::of_row, row[r] + column, task.lane, wide);
      }
    }
    end_group();
  };
  const auto request_tile = [&](int slot, long long column) {
    if (column < whole) {
      VectorTile::request(vector_tiles + slot * VectorTile::size, vector, columns, column, task.first);
    }
  };
#pragma unroll
  for (int t = 0; t < tiles_ahead; ++t) request_tile(t, t * kTileColumns);
#pragma unroll
  for (int stage = 0; stage < Ring::stages - 1; ++stage) request_stage(stage, stage * Ring::of_row);

  Number sum[Rows], total;  // total: of the row that this lane is going to store
  clear(total);
  int tile_slot = 0, part = 0;  // of the vector's tiles, and of the ring, whose parts are as long as a tile
  // Adds up the columns of a tile. Its first stage has arrived, and all threads of the block know that.
  const auto add_tile = [&](long long column, const auto& add) {
    const T* const tile = vector_tiles + tile_slot * VectorTile::size;
#pragma unroll
    for (int p = 0; p < of_tile; ++p) {
      if (p > 0) {
        groups_arrived<Ring::stages - 2>();
        __syncwarp();
      }
      // All lanes have used the stage before: its place is free.
      const int slot = part * of_tile + p;
      request_stage(slot == 0 ? Ring::stages - 1 : slot - 1, column + (Ring::stages - 1 + p) * Ring::of_row);
#pragma unroll
      for (int k = 0; k < Ring::steps; ++k) {
        const Number x = VectorTile::number(tile, (p * Ring::steps + k) * kChains + task.lane);
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
          add(sum[r], ring[(slot * Rows + r) * Ring::of_row + k * kChains + task.lane], x);
        }
      }
    }
  };

  for (long long start = 0; start < columns; start += kBlockTerms) {
#pragma unroll
    for (int r = 0; r < Rows; ++r) clear(sum[r]);
    if (start < whole) {
      for (long long column = start; column < start + kBlockTerms; column += kTileColumns) {
        groups_arrived<Ring::stages - 2>();
        // After the barrier the tile is there, and the one before it has been used by all.
        const bool special =
            __syncthreads_or(VectorTile::has_infinity(vector_tiles + tile_slot * VectorTile::size)) != 0;
        request_tile(tile_slot == 0 ? tiles_ahead : tile_slot - 1, column + tiles_ahead * kTileColumns);
        if (!special) {
          add_tile(column,
                   [](Number& to, T element, const Number& x) { add_bounded_product<Products>(to, element, x); });
        } else {
          add_tile(column, [](Number& to, T element, const Number& x) { add_product(to, element, x); });
        }
        tile_slot = tile_slot + 1 == tiles ? 0 : tile_slot + 1;
        part = part + 1 == tiles_ahead ? 0 : part + 1;
      }
    } else {
      for (long long column = start + task.lane; column < columns; column += kChains) {
        const Number x = Array::template load<Cuts>(vector, columns, column, task.first);
#pragma unroll
        for (int r = 0; r < Rows; ++r) add_product(sum[r], row[r][column], x);
      }
    }
    add_block(total, sum, task.lane);
  }
  if (task.lane < Rows && task.first_row + task.lane < task.rows) {
    Array::template store<Cuts>(result, task.rows, task.first_row + task.lane, task.first, closed_sum(total));
  }
}

}  // namespace heddle::fuzzy
