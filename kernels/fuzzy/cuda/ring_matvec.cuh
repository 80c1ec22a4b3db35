// A matrix times a vector of fuzzy numbers, the matrix through shared memory: matvec.cuh.
//
// Each warp has a ring of stages there, and copies what it is going to need without holding up its threads. Of a matrix
// of real numbers registers would not hold enough, because a thread waits for its loads by a handful of counters: the
// compiler gives many loads one counter, and the first use of any waits for all of them. Fuzzy elements whose
// components lie next to each other are copied as they lie in memory, 16 bytes a lane where rows allow it. Loads of one
// component each would ask for every sector of 32 bytes several times.
#pragma once

#include "heddle/kernels/fuzzy/cuda/vector_tile.cuh"

namespace heddle::fuzzy {

/// Elements of a row of real numbers. `Products`: that of add_usual_product().
template <class Array, int Cuts, int Products>
struct RealElements {
  using T = typename Array::Real;
  using Number = typename Array::template Slice<Cuts>;
  static constexpr int components = 1;
  [[nodiscard]] __device__ __forceinline__ static T load(const T* from) { return *from; }
  __device__ __forceinline__ static void add_usual(Number& sum, const T* from, const Number& x) {
    add_usual_product<Products>(sum, *from, x);
  }
};
/// Elements of a row of fuzzy numbers, all components of one after those of the other.
template <class Array>
struct FuzzyRowElements {
  using T = typename Array::Real;
  static constexpr int cuts = Array::count_of_cuts, components = Array::components;
  using Number = typename Array::template Slice<cuts>;
  static_assert(Array::place == kNumbers, "numbers that lie together");
  [[nodiscard]] __device__ __forceinline__ static Number load(const T* from) {
    return Array::template load<cuts>(from, 1, 0, 0);
  }
  __device__ __forceinline__ static void add_usual(Number& sum, const T* from, const Number& x) {
    add_usual_product(sum, load(from), x);
  }
};

/// A warp's ring of stages. In a stage each row has `steps` elements for each lane, 32 columns apart. A lane copies
/// `Wide` neighbouring components at a time.
template <class T, int Components, int Rows, int Ahead, int Wide>
struct StageRing {
  static constexpr int steps = 4, columns = steps * kChains, of_row = columns * Components, of_stage = Rows * of_row;
  static constexpr int stages = Ahead / steps, size = stages * of_stage;
  static_assert(Ahead % steps == 0 && stages > 1, "stages without a rest, of which one is used and others arrive");
  static_assert(Wide == 1 || Wide * sizeof(T) == 16, "one access");

  T* const ring;
  const int own;        ///< where this lane's share of a row begins
  const T* next[Rows];  ///< this lane's share of the next stage to request
  int to_request;       ///< stages
  T *now, *before;      ///< the stage that is used, and the one before it

  __device__ __forceinline__ StageRing(T* memory, int lane, int stages_of_row)
      : ring(memory), own(lane * Wide), to_request(stages_of_row), now(memory), before(last()) {}
  [[nodiscard]] __device__ __forceinline__ T* last() const { return ring + (stages - 1) * of_stage; }
  /// Starts the copies of the next stage, which are a group: an empty one after the last stage, so that groups can be
  /// counted.
  __device__ __forceinline__ void request(T* slot) {
    if (to_request > 0) {
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
#pragma unroll
        for (int k = 0; k < of_row; k += kWarp * Wide) {
          if constexpr (Wide == 1) {
            start_grouped_copy(slot + own + r * of_row + k, next[r] + k);
          } else {
            start_wide_grouped_copy(slot + own + r * of_row + k, next[r] + k);
          }
        }
      }
    }
    end_group();
    --to_request;
#pragma unroll
    for (int r = 0; r < Rows; ++r) next[r] += of_row;
  }
  /// Before the first stage.
  __device__ __forceinline__ void fill() {
#pragma unroll
    for (int stage = 0; stage < stages - 1; ++stage) request(ring + stage * of_stage);
  }
  /// Requests the stage that takes the place of the one before, which all lanes have used.
  __device__ __forceinline__ void replace_before() { request(before); }
  __device__ __forceinline__ void end_stage() {
    before = now;
    now = now == last() ? ring : now + of_stage;
  }
};

/// matrix: rows x columns elements; vector: `columns` numbers, of this form; result: `rows` numbers. Shared memory:
/// tiles of the vector of `Steps` steps, one that is used and those that arrive before what the ring requests at the
/// same time, and a ring for each warp.
template <class Array, class Elements, int Cuts, int Rows, int Ahead, int Threads, int Wide, int Steps>
__global__ void __launch_bounds__(Threads)
    ring_matvec(const typename Array::Real* __restrict__ matrix, const typename Array::Real* __restrict__ vector,
                typename Array::Real* __restrict__ result, long long rows, ArrayForm form) {
  using T = typename Array::Real;
  using Number = typename Array::template Slice<Cuts>;
  using VectorTile = Tile<Array, Cuts, Threads, Steps>;
  using Ring = StageRing<T, Elements::components, Rows, Ahead, Wide>;
  static_assert(Steps % Ring::steps == 0, "stages without a rest");
  constexpr int words = static_cast<int>(sizeof(T) / sizeof(float)), warps = Threads / kWarp;
  constexpr int of_tile = Steps / Ring::steps;
  constexpr int tiles_ahead = (Ring::stages - 1 + of_tile - 1) / of_tile, tiles = tiles_ahead + 1;
  const RowTask<Array, Cuts, Rows, Threads> task(rows, form);
  const long long columns = task.columns, whole = columns / kBlockTerms * kBlockTerms;

  SharedMemory shared;
  T* const vector_tiles = reinterpret_cast<T*>(shared.take<float>(tiles * VectorTile::size * words));
  T* const rings = reinterpret_cast<T*>(shared.take<float>(warps * Ring::size * words));
  Ring ring(rings + static_cast<int>(threadIdx.x) / kWarp * Ring::size, task.lane,
            static_cast<int>(whole / Ring::columns));
#pragma unroll
  for (int r = 0; r < Rows; ++r) ring.next[r] = matrix + task.row(r) * columns * Elements::components + ring.own;
  const T* next_of_vector = vector;
  const auto request_tile = [&](T* to, long long column) {
    if (column < whole) VectorTile::request(to, next_of_vector, columns, task.first);
    next_of_vector += VectorTile::stride;
  };
#pragma unroll
  for (int t = 0; t < tiles_ahead; ++t) request_tile(vector_tiles + t * VectorTile::size, t * VectorTile::columns);
  ring.fill();

  Number sum[Rows], total;  // total: of a row that one lane is going to store
  clear(total);
  T *tile = vector_tiles, *tile_before = vector_tiles + tiles_ahead * VectorTile::size;
  for (long long start = 0; start < columns; start += kBlockTerms) {
#pragma unroll
    for (int r = 0; r < Rows; ++r) clear(sum[r]);
    if (start < whole) {
      for (long long column = start; column < start + kBlockTerms; column += VectorTile::columns) {
#pragma unroll 2
        for (int part = 0; part < of_tile; ++part) {
          groups_arrived<Ring::stages - 2>();
          if (part == 0) {
            // After the barrier the tile is there, and the one before it has been used by all.
            __syncthreads();
            request_tile(tile_before, column + tiles_ahead * VectorTile::columns);
          } else {
            __syncwarp();
          }
          ring.replace_before();
#pragma unroll
          for (int k = 0; k < Ring::steps; ++k) {
            const Number x = VectorTile::number(tile, (part * Ring::steps + k) * kChains + task.lane);
#pragma unroll
            for (int r = 0; r < Rows; ++r) {
              Elements::add_usual(sum[r],
                                  ring.now + r * Ring::of_row + (k * kChains + task.lane) * Elements::components, x);
            }
          }
          ring.end_stage();
        }
        tile_before = tile;
        tile = tile == vector_tiles + tiles_ahead * VectorTile::size ? vector_tiles : tile + VectorTile::size;
      }
    }
    sum_unless_usual<Array, Cuts>(start < whole, sum, vector, start, task, [&](int r, long long column) {
      return Elements::load(matrix + (task.row(r) * columns + column) * Elements::components);
    });
    add_block(total, sum, task.lane);
  }
  store_totals<Array, Cuts>(result, task, total);
}

}  // namespace heddle::fuzzy
