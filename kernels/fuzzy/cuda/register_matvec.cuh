// A matrix of fuzzy numbers times a vector of them, the matrix through registers: matvec.cuh. It is read some steps
// early.
#pragma once

#include "heddle/kernels/fuzzy/cuda/vector_tile.cuh"

namespace heddle::fuzzy {

constexpr int kTileSteps = 8;

/// Elements of a matrix of fuzzy numbers: an array, row after row.
template <class Array, int Cuts>
struct FuzzyElements {
  using Element = typename Array::template Slice<Cuts>;
  static constexpr int stride = Array::place == kNumbers ? Array::components : 1;
  [[nodiscard]] __device__ __forceinline__ static Element load(const typename Array::Real* from, long long elements,
                                                               long long i, int first) {
    return Array::template load<Cuts>(from, elements, i, first);
  }
};

/// matrix: rows x columns elements; vector: `columns` numbers, of this form; result: `rows` numbers. Shared memory: two
/// tiles.
template <class Array, int Cuts, int Rows, int Ahead, int Threads>
__global__ void __launch_bounds__(Threads)
    register_matvec(const typename Array::Real* __restrict__ matrix, const typename Array::Real* __restrict__ vector,
                    typename Array::Real* __restrict__ result, long long rows, ArrayForm form) {
  static_assert(kTileSteps % Ahead == 0, "steps without a rest");
  using T = typename Array::Real;
  using Number = typename Array::template Slice<Cuts>;
  using VectorTile = Tile<Array, Cuts, Threads, kTileSteps>;
  using Elements = FuzzyElements<Array, Cuts>;
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
  const T* from_vector = vector;  // the tile that was requested last
  typename Elements::Element a[Ahead][Rows];
  if (whole > 0) {
    VectorTile::request(next_tile, vector, columns, task.first);
    end_group();
#pragma unroll
    for (int k = 0; k < Ahead; ++k) {
#pragma unroll
      for (int r = 0; r < Rows; ++r) a[k][r] = element(r, k);
    }
  }

  // Adds up the columns of a tile, and reads what comes after them.
  Number sum[Rows];
  const auto add_tile = [&](long long column) {
#pragma unroll
    for (int step = 0; step < kTileSteps; step += Ahead) {
      const bool more = column + (step + Ahead) * kChains < whole;
#pragma unroll
      for (int k = 0; k < Ahead; ++k) {
        const Number x = VectorTile::number(tile, (step + k) * kChains + task.lane);
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
          add_usual_product(sum[r], a[k][r], x);
          if (more) a[k][r] = element(r, step + k + Ahead);
        }
      }
    }
#pragma unroll
    for (int r = 0; r < Rows; ++r) from[r] += VectorTile::columns * Elements::stride;
  };

  Number total;  // of a row that one lane is going to store
  clear(total);
  for (long long start = 0; start < columns; start += kBlockTerms) {
#pragma unroll
    for (int r = 0; r < Rows; ++r) clear(sum[r]);
    if (start < whole) {
      for (long long column = start; column < start + kBlockTerms; column += VectorTile::columns) {
        T* const used = tile;
        tile = next_tile;
        next_tile = used;
        groups_arrived<0>();
        // After the barrier the tile is there, and the one before it has been used by all.
        __syncthreads();
        if (column + VectorTile::columns < whole) {
          from_vector += VectorTile::stride;
          VectorTile::request(next_tile, from_vector, columns, task.first);
          end_group();
        }
        add_tile(column);
      }
    }
    sum_unless_usual<Array, Cuts>(start < whole, sum, vector, start, task, [&](int r, long long column) {
      return Elements::load(matrix, elements, task.row(r) * columns + column, task.first);
    });
    add_block(total, sum, task.lane);
  }
  store_totals<Array, Cuts>(result, task, total);
}

}  // namespace heddle::fuzzy
