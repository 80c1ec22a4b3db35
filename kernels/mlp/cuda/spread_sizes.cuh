// How the blocks of scheme = spread divide the first layer, and lay it out in shared memory and in packets. Compiled by
// the C++ compiler too, so only headers of that kind are included.
#pragma once

#include "heddle/kernels/mlp/cuda/resident_sizes.cuh"

namespace heddle::mlp {

/// The first layer: its inputs in `parts` parts, its neurons in groups; block b has part b modulo `parts` of group
/// b / parts. Every block has all rows of a step.
template <class Int>
struct SpreadShape {
  Int inputs, neurons;
  Int blocks, parts;  ///< `parts` divides `blocks`
  Int rows;           ///< of a step at most
  Int warps;          ///< of a block

  [[nodiscard]] constexpr Int groups() const { return blocks / parts; }
  /// Whole packs of four, so that rows are copied in packs where the data has such rows.
  [[nodiscard]] constexpr Int inputs_each() const { return round_up(ceil_div(inputs, parts), Int(4)); }
  [[nodiscard]] constexpr Int neurons_each() const { return ceil_div(neurons, groups()); }
  [[nodiscard]] constexpr Int tile() const { return round_up(rows, Int(kTileRows)); }
  /// The products of a block with the first layer.
  [[nodiscard]] constexpr ResidentShape<Int> products() const {
    ResidentShape<Int> shape;
    shape.count = 1;
    shape.sizes[0] = inputs_each();
    shape.sizes[1] = neurons_each();
    shape.warps = warps;
    shape.tile = tile();
    return shape;
  }
  /// Rows whose other layers a block has.
  [[nodiscard]] constexpr Int upper_tile() const { return round_up(ceil_div(rows, blocks), Int(kTileRows)); }

  /// Packets that a row has of a block's neurons. Those of the sums are [row][group][part][packet], those of the deltas
  /// [group][row][packet].
  [[nodiscard]] constexpr Int packets_each() const { return ceil_div(neurons_each(), Int(kPacketValues)); }
  [[nodiscard]] constexpr Int sum_packets() const { return rows * blocks * packets_each(); }
  [[nodiscard]] constexpr Int packets() const { return sum_packets() + rows * groups() * packets_each(); }
};

/// The pieces of shared memory beside those of the other layers, in words.
template <class Int>
struct SpreadPieces {
  Int rows;  ///< once for this step, once for the next
  Int weights, deltas, workspace;
  Int own;        ///< of all weights: see kOwnArrays
  Int to_inputs;  ///< deltas of the inputs of the other layers
  Int targets;    ///< of the rows whose other layers the block has, for this step and the next

  constexpr SpreadPieces(const SpreadShape<Int>& of, const ResidentShape<Int>& upper)
      : rows(ResidentPieces<Int>(of.products(), Int(kRowsShared), Int(1)).rows),
        weights(of.products().weight_words(0)),
        deltas(of.tile() * of.products().delta_pitch(0)),
        workspace(larger(ResidentPieces<Int>(of.products(), Int(kRowsShared), Int(1)).workspace,
                         ResidentPieces<Int>(upper, Int(kRowsShared), of.blocks).workspace)),
        own(round_up(kOwnArrays * of.neurons_each() * (of.inputs_each() + 1), Int(4))),
        to_inputs(upper.tile * upper.value_pitch(0)),
        targets(round_up(upper.tile * upper.out(upper.count - 1), Int(4))) {}
  /// With those of the other layers, whose workspace is that of the first one.
  [[nodiscard]] constexpr Int words(const ResidentPieces<Int>& upper) const {
    return upper.words() - upper.workspace + 2 * rows + weights + deltas + workspace + own + to_inputs + 2 * targets;
  }
};

}  // namespace heddle::mlp
