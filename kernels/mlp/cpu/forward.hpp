// A network's forward pass for a tile of rows on a CPU, and the copy of its weights that it reads. Compiled at run time
// too.
#pragma once

#include "heddle/kernels/mlp/cpu/activate.hpp"
#include "heddle/kernels/mlp/cpu/multiply.hpp"
#include "heddle/kernels/mlp/cpu/sizes.hpp"

namespace heddle::mlp::cpu {
namespace {

/// Neurons whose weights are brought to their places together, so that whole cache lines of the transposed ones are
/// written.
constexpr int kNeuronsOfUnit = 16;

/// Weights as the kernels read them, PackedSizes.
class Packed {
 public:
  Packed(float* all, const Layers& layers) : all_(all), sizes_{layers} {}

  [[nodiscard]] float* transposed(int layer) const { return all_ + sizes_.at(layer); }
  [[nodiscard]] float* weights(int layer) const { return transposed(layer) + sizes_.transposed(layer); }
  [[nodiscard]] float* biases(int layer) const { return weights(layer) + sizes_.weights(layer); }

  /// From the parameters, for `count` neurons of a layer. What is never read stays as it is, the padding becomes 0.
  void fill(const float* parameters, int layer, int first, int count) const {
    const Layers& layers = sizes_.layers;
    const int inputs = layers.sizes[layer], neurons = layers.sizes[layer + 1];
    const long long wide = padded(neurons), long_row = padded(inputs);
    const int end = first + count == neurons ? static_cast<int>(wide) : first + count;
    const float* own = parameters + layers.weights_at(layer);
    float* across = transposed(layer);
    for (int i = 0; i < inputs; ++i) {
      for (int o = first; o < first + count; ++o) across[i * wide + o] = own[static_cast<long long>(o) * inputs + i];
      for (int o = first + count; o < end; ++o) across[i * wide + o] = 0.0f;
    }
    for (int o = first; layer > 0 && o < first + count; ++o) {
      for (int i = 0; i < inputs; ++i) weights(layer)[o * long_row + i] = own[static_cast<long long>(o) * inputs + i];
      for (long long i = inputs; i < long_row; ++i) weights(layer)[o * long_row + i] = 0.0f;
    }
    const float* bias = parameters + layers.biases_at(layer);
    for (int o = first; o < end; ++o) biases(layer)[o] = o < first + count ? bias[o] : 0.0f;
  }

 private:
  float* all_;
  PackedSizes sizes_;
};

/// Calls visit(layer, first neuron, neurons) for every unit that falls to one of the threads, in turn.
template <class Visit>
inline void for_each_unit(const Layers& layers, int thread, int threads, const Visit& visit) {
  int unit = 0;
  for (int l = 0; l < layers.count; ++l) {
    for (int first = 0; first < layers.sizes[l + 1]; first += kNeuronsOfUnit, ++unit) {
      const int left = layers.sizes[l + 1] - first;
      if (unit % threads == thread) visit(l, first, left < kNeuronsOfUnit ? left : kNeuronsOfUnit);
    }
  }
}

/// Copies a row of the data to the front of a tile's row; the padding becomes 0.
inline void copy_row(const float* from, float* to, int numbers) {
  for (int i = 0; i < numbers; ++i) to[i] = from[i];
  for (int i = numbers; i < padded(numbers); ++i) to[i] = 0.0f;
}

/// The values of all layers after the inputs, for `count` rows of the tile whose values are at `tile`.
template <int W, int Rows, int Vectors>
inline void pass_forward(const Packed& packed, const TileSizes& sizes, float* tile, int count, int hidden, int output) {
  const Layers& layers = sizes.layers;
  for (int l = 0; l < layers.count; ++l) {
    const int neurons = layers.sizes[l + 1];
    const long long wide = padded(neurons);
    float* values = tile + sizes.values(l + 1);
    for (int b = 0; b < count; ++b) {
      for (long long o = 0; o < wide; o += W) store<W>(values + b * wide + o, load<W>(packed.biases(l) + o));
    }
    multiply<W, Rows, Vectors>(Left{tile + sizes.values(l), padded(layers.sizes[l]), 1},
                               Right{packed.transposed(l), wide}, Sums{values, wide},
                               Extents{count, neurons, layers.sizes[l]});
    for (int b = 0; b < count; ++b) activate<W>(values + b * wide, neurons, l + 1 == layers.count ? output : hidden);
  }
}

}  // namespace
}  // namespace heddle::mlp::cpu
