// How the block of scheme = online divides its shared memory. Compiled by the C++ compiler too, so only headers of that
// kind are included.
#pragma once

#include "heddle/kernels/mlp/control.cuh"

namespace heddle::mlp {

/// Rows that are in shared memory or on their way to it: the one that is learnt, and those after it. A copy takes the
/// time of several steps of a small network.
constexpr int kRowsAhead = 4;

template <class Int>
struct OnlineShape {
  Int count = 0;
  Int sizes[kMostLayers + 1] = {};

  /// A neuron's weights, and then its bias.
  [[nodiscard]] constexpr Int columns(Int l) const { return sizes[l] + 1; }
  /// Where the parameters of a layer begin, [neuron][column]; of `count`: how many there are.
  [[nodiscard]] constexpr Int parameters_at(Int l) const {
    Int words = 0;
    for (Int i = 0; i < l; ++i) words += columns(i) * sizes[i + 1];
    return words;
  }
  [[nodiscard]] constexpr Int parameters() const { return parameters_at(count); }
  /// Where the values of layer l, from 1, begin; deltas lie alike.
  [[nodiscard]] constexpr Int values_at(Int l) const {
    Int words = 0;
    for (Int i = 1; i < l; ++i) words += sizes[i];
    return words;
  }
  [[nodiscard]] constexpr Int values() const { return values_at(count + 1); }
  /// A row with its targets.
  [[nodiscard]] constexpr Int row() const { return sizes[0] + sizes[count]; }
};

/// The pieces of shared memory, in words: multiples of 4.
template <class Int>
struct OnlinePieces {
  Int verdict = 32, parameters, state, rows, values, deltas;

  constexpr explicit OnlinePieces(const OnlineShape<Int>& shape)
      : parameters(whole(shape.parameters())),
        state(whole(kStateArrays * shape.parameters())),
        rows(whole(kRowsAhead * shape.row())),
        values(whole(shape.values())),
        deltas(whole(shape.values())) {}
  [[nodiscard]] constexpr Int words() const { return verdict + parameters + state + rows + values + deltas; }

 private:
  [[nodiscard]] static constexpr Int whole(Int words) { return (words + 3) / 4 * 4; }
};

}  // namespace heddle::mlp
