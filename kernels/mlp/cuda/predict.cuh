// Outputs of a perceptron for many rows: the kernels of layered.cuh for the forward pass, with all rows at once.
#pragma once

#include "heddle/kernels/mlp/cuda/layered.cuh"

namespace heddle::mlp {

/// As forward_layer().
template <int M, int N>
__global__ void __launch_bounds__(TileShape{M, N}.threads(), TileShape{M, N}.blocks_of_unit())
    predict_layer(const float* from, const float* parameters, float* to, const PredictControl* control,
                  TiledLayer layer, int place) {
  const int activation = (place & kLastLayer) != 0 ? static_cast<int>(kLinear) : control->hidden;
  find_values<M, N>(from, {nullptr, 0}, control->rows, parameters, layer, activation, to);
}

/// Makes outputs of their sums. Some lanes for a row, lanes_of_row().
__global__ void __launch_bounds__(kLayeredBlock) finish_rows(float* sums, const PredictControl* control, int outputs) {
  const int rows = control->rows, thread = static_cast<int>(threadIdx.x), lanes = lanes_of_row(outputs);
  const int together = kLayeredBlock / lanes;
#pragma unroll 1
  for (int m0 = static_cast<int>(blockIdx.x) * together; m0 < rows; m0 += static_cast<int>(gridDim.x) * together) {
    const int m = m0 + thread / lanes;
    finish_outputs(control->output, m < rows ? outputs : 0, sums + static_cast<long long>(m) * outputs, thread % lanes,
                   lanes);
  }
}

}  // namespace heddle::mlp
