// How the clusters of scheme = neurons divide a network, and what lies where. Compiled by the C++ compiler too, so only
// headers of that kind are included.
#pragma once

#include "heddle/kernels/mlp/cuda/resident_sizes.cuh"

namespace heddle::mlp {

constexpr int kNeuronSlots = 8;      ///< hidden neurons of a cluster at most: columns of a tile of the tensor cores
constexpr int kOutputSlots = 16;     ///< outputs at most: rows of a tile
constexpr int kSliceDepth = 8;       ///< addends of one instruction of the tensor cores
constexpr int kErrorPitch = 24;      ///< words from row to row of the outputs' deltas
constexpr int kQuadRows = 4;         ///< rows that a warp has at a time, with a lane for each slot
constexpr int kMostRowsOfLane = 32;  ///< rows whose numbers in the data the lanes of a warp keep

/// A network with one hidden layer. Block b has part b modulo `parts` of the inputs of the neurons of cluster
/// b / parts, and every block has all rows of a step for them. For what follows the sums of the neurons, each block of
/// a cluster has `rows_each()` of the rows.
template <class Int>
struct NeuronsShape {
  Int inputs, hidden, outputs;
  Int blocks, parts;  ///< `parts` divides `blocks`
  Int rows;           ///< of a step at most
  Int warps;          ///< of a block

  [[nodiscard]] constexpr Int clusters() const { return blocks / parts; }
  [[nodiscard]] constexpr Int neurons_each() const { return ceil_div(hidden, clusters()); }
  /// Whole packs of four, so that rows are copied in packs where the data has such rows.
  [[nodiscard]] constexpr Int inputs_each() const { return round_up(ceil_div(inputs, parts), Int(4)); }
  /// Words from row to row of inputs and weights, the bias or its 1 with them: an odd multiple of 8, so that 4 lines of
  /// 8 words next to each other meet 32 different banks.
  [[nodiscard]] constexpr Int pitch() const { return ceil_div(inputs_each() + 1, Int(16)) * 16 + 8; }
  [[nodiscard]] constexpr Int rows_each() const { return round_up(ceil_div(rows, parts), Int(kQuadRows)); }
  [[nodiscard]] constexpr Int quads() const { return rows_each() / kQuadRows; }
  [[nodiscard]] constexpr Int tile() const { return round_up(rows_each() * parts, Int(kTileRows)); }

  /// Forward: tiles of rows, and warps that share the addends of one.
  [[nodiscard]] constexpr Int row_tiles() const { return tile() / kTileRows; }
  [[nodiscard]] constexpr Int slices() const { return ceil_div(inputs_each() + 1, Int(kSliceDepth)); }
  [[nodiscard]] constexpr Int sharing() const { return larger(Int(1), warps / row_tiles()); }
  /// Warps that have the rows behind the sums; the others bring the next rows meanwhile.
  [[nodiscard]] constexpr Int upper_warps() const { return smaller(quads(), warps / 2); }

  /// Tiles of the gradient: 16 inputs each; the outputs' weights; their biases. The last warp has none.
  [[nodiscard]] constexpr Int first_tiles() const { return ceil_div(inputs_each() + 1, Int(16)); }
  [[nodiscard]] constexpr Int tiles() const { return first_tiles() + 2; }
  [[nodiscard]] constexpr Int tiles_each() const { return ceil_div(tiles(), warps - 1); }

  /// Packets of the sums of the outputs: [step modulo 2][part][packet][cluster].
  [[nodiscard]] constexpr Int quad_packets() const { return ceil_div(kQuadRows * outputs, Int(kPacketValues)); }
  [[nodiscard]] constexpr Int packets_each() const { return quads() * quad_packets(); }
  [[nodiscard]] constexpr Int packets() const { return 2 * packets_each() * blocks; }
};

/// The pieces of shared memory, in words: multiples of 4.
template <class Int>
struct NeuronsPieces {
  Int rows;  ///< once for this step, once for the next
  Int weights, output_weights = kOutputSlots * kNeuronSlots, output_biases = kOutputSlots;
  Int sums;         ///< of the neurons, by all that have some addends
  Int by_slot;      ///< values of the neurons, their deltas, and ones
  Int errors;       ///< deltas of the outputs
  Int output_sums;  ///< [row][output]: once those of the cluster, once those of all
  Int targets;      ///< of the block's rows: once for this step, once for the next
  Int squares;      ///< a pack for each four rows
  Int mailboxes = 8, verdict = 32;

  constexpr explicit NeuronsPieces(const NeuronsShape<Int>& of)
      : rows(of.tile() * of.pitch()),
        weights(kNeuronSlots * of.pitch()),
        sums(of.parts * of.sharing() * of.rows_each() * kNeuronSlots),
        by_slot(of.tile() * kNeuronSlots),
        errors(of.tile() * kErrorPitch),
        output_sums(of.rows_each() * of.outputs),
        targets(of.rows_each() * of.outputs),
        squares(4 * of.parts * of.quads()) {}
  [[nodiscard]] constexpr Int words() const {
    return 2 * rows + weights + output_weights + output_biases + sums + 3 * by_slot + errors + 2 * output_sums +
           2 * targets + squares + mailboxes + verdict;
  }
};

}  // namespace heddle::mlp
