// C (m x n) = A (m x k) B (k x n), all row after row.
//
// | parameter | meaning |
// |---|---|
// | Tile | edge of a tile of C: threads of a block in both directions |
// | Rows | rows of C that a thread computes |
#include "heddle/kernels/common/memory.cuh"

namespace described {

template <int Tile, int Rows>
__global__ void matrix_product(const float* a, const float* b, float* c, int m, int n, int k) {
  heddle::SharedMemory shared;
  float* const tile_a = shared.take<float>(Rows * Tile * Tile);
  float* const tile_b = shared.take<float>(Tile * Tile);
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  const int column = static_cast<int>(blockIdx.x) * Tile + x;
  const int first_row = static_cast<int>(blockIdx.y) * Tile * Rows + y;
  float sum[Rows] = {};
  for (int first = 0; first < k; first += Tile) {
    for (int r = 0; r < Rows; ++r) {
      const int row = first_row + r * Tile;
      tile_a[(r * Tile + y) * Tile + x] = row < m && first + x < k ? a[row * k + first + x] : 0.0f;
    }
    tile_b[y * Tile + x] = first + y < k && column < n ? b[(first + y) * n + column] : 0.0f;
    __syncthreads();
    for (int i = 0; i < Tile; ++i) {
      for (int r = 0; r < Rows; ++r) sum[r] += tile_a[(r * Tile + y) * Tile + i] * tile_b[i * Tile + x];
    }
    __syncthreads();
  }
  for (int r = 0; r < Rows; ++r) {
    const int row = first_row + r * Tile;
    if (row < m && column < n) c[row * n + column] = sum[r];
  }
}

}  // namespace described
