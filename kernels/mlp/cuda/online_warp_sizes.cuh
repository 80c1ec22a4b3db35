// How the warp of scheme = online with 32 threads shares a network among its lanes. Compiled by the C++ compiler too,
// so only headers of that kind are included.
#pragma once

#include "heddle/kernels/mlp/control.cuh"

namespace heddle::mlp {

/// A network with one hidden layer. Each hidden neuron has `sharing()` neighbouring lanes, which share its inputs;
/// all of them have its weights to the outputs, and all lanes have the biases of the outputs.
template <class Int>
struct OnlineWarpShape {
  static constexpr Int kLanes = 32;
  static constexpr Int kMostOutputs = 4, kMostOfLane = 20;  ///< registers hold a lane's weights and their states

  Int inputs = 0, hidden = 0, outputs = 0;

  [[nodiscard]] constexpr bool fits() const {
    return hidden >= 1 && hidden <= kLanes && outputs <= kMostOutputs && inputs_of_lane() <= kMostOfLane;
  }
  /// A power of two.
  [[nodiscard]] constexpr Int sharing() const {
    Int lanes = 1;
    while (2 * lanes * hidden <= kLanes) lanes *= 2;
    return lanes;
  }
  /// Inputs of a neuron that a lane has, that of the bias with them, which is 1. Lane s has every sharing()-th, from
  /// input s on.
  [[nodiscard]] constexpr Int inputs_of_lane() const { return (inputs + sharing()) / sharing(); }
  /// Words from row to row in shared memory: inputs, 1, zeros; and the targets.
  [[nodiscard]] constexpr Int targets_at() const { return inputs_of_lane() * sharing(); }
  [[nodiscard]] constexpr Int row() const { return targets_at() + outputs; }
  /// Words of the block's shared memory: two chunks of rows.
  [[nodiscard]] constexpr Int words() const { return (2 * kLanes * row() + 3) / 4 * 4; }
};

}  // namespace heddle::mlp
