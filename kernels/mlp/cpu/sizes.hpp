// How the CPU templates of perceptrons divide their scratch buffers. Compiled at run time too.
#pragma once

#include "heddle/kernels/mlp/control.cuh"

namespace heddle::mlp::cpu {

/// Rows of numbers begin at whole cache lines, whatever the width of a vector.
constexpr long long padded(long long numbers) { return (numbers + 15) / 16 * 16; }

/// Weights as the kernels read them, in floats: a copy of the parameters. Of every layer: the transposed weights
/// [input][neuron], the weights [neuron][input], the biases.
struct PackedSizes {
  Layers layers;

  [[nodiscard]] constexpr long long transposed(int layer) const {
    return layers.sizes[layer] * padded(layers.sizes[layer + 1]);
  }
  [[nodiscard]] constexpr long long weights(int layer) const {
    return layers.sizes[layer + 1] * padded(layers.sizes[layer]);
  }
  [[nodiscard]] constexpr long long of_layer(int layer) const {
    return transposed(layer) + weights(layer) + padded(layers.sizes[layer + 1]);
  }
  [[nodiscard]] constexpr long long at(int layer) const {
    long long offset = 0;
    for (int l = 0; l < layer; ++l) offset += of_layer(l);
    return offset;
  }
  [[nodiscard]] constexpr long long all() const { return at(layers.count); }
};

/// Sums of gradients of one part of the rows, in floats. Of every layer: of weights [neuron][input], of biases.
struct GradientSizes {
  Layers layers;

  [[nodiscard]] constexpr long long weights(int layer) const {
    return layers.sizes[layer + 1] * padded(layers.sizes[layer]);
  }
  [[nodiscard]] constexpr long long at(int layer) const {
    long long offset = 0;
    for (int l = 0; l < layer; ++l) offset += weights(l) + padded(layers.sizes[l + 1]);
    return offset;
  }
  [[nodiscard]] constexpr long long all() const { return at(layers.count); }
};

/// What a thread works with, in floats: for a tile of rows, the values of every layer (the inputs first),
/// [row][neuron]; then their deltas likewise, those of the inputs left out.
struct TileSizes {
  Layers layers;
  long long rows;

  [[nodiscard]] constexpr long long values(int layer) const {
    long long offset = 0;
    for (int l = 0; l < layer; ++l) offset += rows * padded(layers.sizes[l]);
    return offset;
  }
  [[nodiscard]] constexpr long long deltas(int layer) const {
    return values(layers.count + 1) + values(layer) - values(1);
  }
  [[nodiscard]] constexpr long long of_prediction() const { return values(layers.count + 1); }
  [[nodiscard]] constexpr long long of_training() const { return deltas(layers.count + 1); }
};

}  // namespace heddle::mlp::cpu
