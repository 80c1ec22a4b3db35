// How the warps of scheme = warps share the rows of a block, and where a block's data lie. Compiled by the C++ compiler
// too, so only headers of that kind are included.
#pragma once

#include "heddle/kernels/mlp/cuda/resident_sizes.cuh"

namespace heddle::mlp {

/// Sizes that scheme = warps can have: the constant 1 that stands for the biases of the outputs takes the place of a
/// hidden neuron, and 16 neurons are one tile of the tensor cores.
constexpr int kMostOfWarps = 15;         ///< hidden neurons
constexpr int kMostInputsOfWarps = 127;  ///< inputs
constexpr int kMostOutputsOfWarps = 4;   ///< outputs: a lane keeps the sums of all for each of its rows

/// A network with one hidden layer, and a block's rows.
///
/// A tile is 8 rows. A warp works on `tiles()` of them at a time, and passes over its rows `passes()` times. The hidden
/// neurons are the first of 8 or 16 slots; the slot after them is always 1. Its weight in the layer of the outputs is
/// their bias.
template <class Int>
struct WarpsShape {
  Int inputs = 0, hidden = 0, outputs = 0;
  Int warps = 0;  ///< that have rows; the warp after them counts the steps
  Int rows = 0;   ///< of a block at most

  /// Of the rows and of a hidden neuron's weights: the inputs, a column for the bias, zeros.
  [[nodiscard]] constexpr Int columns() const { return inputs < 8 ? Int(8) : round_up(inputs + 1, Int(16)); }
  /// Groups of 8 columns, one instruction of the tensor cores each: 1, or an even number.
  [[nodiscard]] constexpr Int slices() const { return columns() / 8; }
  /// Words from row to row: an odd multiple of 4, so that lanes that read 8 rows meet 32 different banks.
  [[nodiscard]] constexpr Int pitch() const { return columns() + 4; }
  [[nodiscard]] constexpr Int slots() const { return hidden < 8 ? Int(8) : Int(16); }

  [[nodiscard]] constexpr Int tiles() const {
    const Int each = ceil_div(rows, 8 * warps);
    return each > 2 ? Int(4) : each > 1 ? Int(2) : Int(1);
  }
  [[nodiscard]] constexpr Int passes() const { return ceil_div(rows, 8 * warps * tiles()); }
  /// Rows there is room for.
  [[nodiscard]] constexpr Int room() const { return 8 * warps * tiles() * passes(); }
  /// Whether each lane keeps its factors of both products in registers for the whole run: as two numbers each.
  [[nodiscard]] constexpr bool in_registers() const { return passes() == 1 && slices() * tiles() <= 8; }

  /// Words of one warp's part of the gradient: of the hidden slots, and then of the outputs.
  [[nodiscard]] constexpr Int first_part() const { return slots() * columns(); }
  [[nodiscard]] constexpr Int part() const { return first_part() + outputs * slots(); }

  /// Its layers, as ResidentExchange wants them.
  [[nodiscard]] constexpr ResidentShape<Int> layers() const {
    ResidentShape<Int> shape{};
    shape.count = 2;
    shape.sizes[0] = inputs;
    shape.sizes[1] = hidden;
    shape.sizes[2] = outputs;
    shape.warps = warps;
    shape.tile = kTileRows;
    return shape;
  }
};

/// The pieces of shared memory, in words: multiples of 4.
template <class Int>
struct WarpsPieces {
  Int rows, weights, targets, workspace, sums, own, losses, verdict = 32;

  constexpr WarpsPieces(const WarpsShape<Int>& shape, Int blocks)
      : rows(shape.in_registers() ? Int(0) : shape.room() * shape.pitch()),
        weights(shape.slots() * shape.pitch() + shape.outputs * shape.slots()),
        targets(round_up(shape.room() * shape.outputs, Int(4))),
        workspace(shape.warps * shape.part()),
        sums(round_up(kPacketValues * ceil_div(shape.layers().packets(), blocks), Int(4))),
        own(round_up(kOwnArrays * kPacketValues * ceil_div(shape.layers().packets(), blocks), Int(4))),
        losses(32 * shape.warps) {}
  [[nodiscard]] constexpr Int words() const {
    return rows + weights + targets + workspace + sums + own + losses + verdict;
  }
};

}  // namespace heddle::mlp
