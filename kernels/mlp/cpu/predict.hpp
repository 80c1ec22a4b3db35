// Outputs of many rows on a CPU. Compiled at run time, and at build time for the configurations that need no compiler.
//
// Threads take tiles of rows in turn.
//
//   parameter  meaning
//   W          floats in a vector
//   Rows       rows x vectors of sums that stay in registers: multiply.hpp
//   Vectors
#pragma once

#include "heddle/kernels/common/cpu_launch.hpp"
#include "heddle/kernels/mlp/cpu/forward.hpp"

namespace heddle::mlp::cpu {
namespace {

template <int W, int Rows, int Vectors>
void predict(const LaunchContext& context, void* const* a) {
  const auto* parameters = static_cast<const float*>(a[0]);
  const auto control = *static_cast<const PredictControl*>(a[1]);
  const auto* rows = static_cast<const float*>(a[2]);
  auto* outputs = static_cast<float*>(a[3]);
  const auto layers = *static_cast<const Layers*>(a[6]);
  const int tile_rows = *static_cast<const int*>(a[7]);
  const Packed packed(static_cast<float*>(a[4]), layers);
  const TileSizes sizes{layers, tile_rows};
  float* const tile = static_cast<float*>(a[5]) + context.thread * sizes.of_prediction();

  for_each_unit(layers, context.thread, context.threads,
                [&](int layer, int first, int count) { packed.fill(parameters, layer, first, count); });
  meet(context, 1);
  const long long inputs = layers.inputs(), answers = layers.outputs(), all = control.rows;
  for (long long first = static_cast<long long>(context.thread) * tile_rows; first < all;
       first += static_cast<long long>(context.threads) * tile_rows) {
    const int count = static_cast<int>(all - first < tile_rows ? all - first : tile_rows);
    for (int b = 0; b < count; ++b) {
      copy_row(rows + (first + b) * inputs, tile + b * padded(inputs), static_cast<int>(inputs));
    }
    pass_forward<W, Rows, Vectors>(packed, sizes, tile, count, control.hidden, control.output);
    const float* values = tile + sizes.values(layers.count);
    for (int b = 0; b < count; ++b) {
      for (long long o = 0; o < answers; ++o) outputs[(first + b) * answers + o] = values[b * padded(answers) + o];
    }
  }
}

}  // namespace
}  // namespace heddle::mlp::cpu
