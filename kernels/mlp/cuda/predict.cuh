// Outputs of a perceptron for many rows: the kernels of layered.cuh for the forward pass, with all rows at once.
#pragma once

#include "heddle/kernels/mlp/cuda/layered.cuh"

namespace heddle::mlp {

/// As forward_layer().
template <int Tile>
__global__ void __launch_bounds__(threads_of_tile(Tile))
    predict_layer(const float* from, const float* parameters, float* to, const PredictControl* control, LayerAt layer,
                  int place) {
  const int rows = control->rows;
  if (static_cast<int>(blockIdx.x) * Tile >= rows) return;
  const int activation = (place & kLastLayer) != 0 ? static_cast<int>(kLinear) : control->hidden;
  find_values<Tile>(from, AsItStands{}, rows, parameters, layer, activation, to);
}

/// Makes outputs of their sums. A warp for a row.
__global__ void __launch_bounds__(kLayeredBlock) finish_rows(float* sums, const PredictControl* control, int outputs) {
  constexpr int kWarps = kLayeredBlock / kWarp;
  const int rows = control->rows, warp = static_cast<int>(threadIdx.x) / kWarp;
#pragma unroll 1
  for (int m = static_cast<int>(blockIdx.x) * kWarps + warp; m < rows; m += static_cast<int>(gridDim.x) * kWarps) {
    finish_outputs(control->output, outputs, sums + static_cast<long long>(m) * outputs);
  }
}

}  // namespace heddle::mlp
