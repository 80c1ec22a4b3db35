// How the blocks of scheme = cluster divide the first layer, and lay it out in shared memory and in packets. Compiled
// by the C++ compiler too, so only headers of that kind are included.
//
// The products of the first layer are those of bytes: rows are bytes, and a weight or a delta is a whole number of
// three digits to the base of 256, each from -128 to 127, times a factor that all of a neuron share. In tiles of the
// tensor cores (byte_matrix.cuh) each digit of eight neurons is a tile of columns.
#pragma once

#include "heddle/kernels/mlp/cuda/resident_sizes.cuh"

namespace heddle::mlp {

constexpr int kByteDepth = 32;  ///< addends of a product of bytes
constexpr int kDigits = 3;      ///< of a weight or a delta
/// The largest number of three digits is 127 (65536 + 256 + 1), and this one is below it by more than rounding.
constexpr int kDigitBits = 22;
constexpr int kQuad = 4;          ///< neurons, columns or rows that a lane has next to each other
constexpr int kHalfNeurons = 16;  ///< neurons of an item of a product: two tiles of columns for each digit
constexpr int kHalfTiles = 2 * kDigits;
constexpr int kChunkWords = 64 + 8;  ///< of a tile of columns
constexpr int kItemRowTiles = 2;     ///< tiles of rows of an item
constexpr int kSummingLanes = 8;     ///< lanes that add up the parts of a packet
/// Shares at most of the rows of the other layers' gradient, with several passes: few warps find it, while the others
/// find that of the first layer.
constexpr int kPassShares = 2;

/// Warps that have the other layers, where others have the first layer meanwhile; with one pass all have both.
template <class Int>
[[nodiscard]] constexpr Int upper_warps(Int warps, Int passes) {
  return passes > 1 ? warps / 2 : warps;
}

/// Warps that have the first layer.
template <class Int>
[[nodiscard]] constexpr Int first_warps(Int warps, Int passes) {
  return passes > 1 ? warps - upper_warps(warps, passes) : warps;
}

/// The first layer: the columns of its values (the inputs, and that of ones) in as many parts as a cluster has blocks;
/// block b has part b modulo `parts`, of all rows of its cluster.
template <class Int>
struct ClusterShape {
  Int inputs, neurons;
  Int blocks, parts;  ///< `parts`, an even number, divides `blocks`
  Int tile;           ///< rows at most whose other layers a block has in a pass; those of a cluster are whole chunks
  Int passes;         ///< over all rows; with one they stay on chip

  [[nodiscard]] constexpr Int clusters() const { return blocks / parts; }
  [[nodiscard]] constexpr Int columns() const { return ceil_div(inputs + 1, parts); }
  [[nodiscard]] constexpr Int column_chunks() const { return ceil_div(columns(), Int(kByteDepth)); }
  /// Rows of a cluster in a pass, those that are not there with them: [block][row of its tile].
  [[nodiscard]] constexpr Int room() const { return parts * tile; }
  [[nodiscard]] constexpr Int row_chunks() const { return room() / kByteDepth; }
  [[nodiscard]] constexpr Int halves() const { return ceil_div(neurons, Int(kHalfNeurons)); }
  [[nodiscard]] constexpr Int quads() const { return ceil_div(neurons, Int(kQuad)); }

  // Words of what lies in shared memory.

  /// Rows as left factors of the forward product: [chunk of columns][tile of 16 rows][lane][register].
  [[nodiscard]] constexpr Int chunk_words() const { return room() / kTileRows * 128; }
  [[nodiscard]] constexpr Int rows_words() const { return column_chunks() * chunk_words(); }
  /// Items of the gradient: halves of neurons, of a chunk of columns, then those of the next chunk.
  [[nodiscard]] constexpr Int gradient_items() const { return column_chunks() * halves(); }
  /// Chunks of columns that nobody needs any more when `warps` warps take their last items of the gradient.
  [[nodiscard]] constexpr Int early_chunks(Int warps) const {
    return (ceil_div(gradient_items(), warps) - 1) * warps / halves();
  }
  /// Digits as right factors: [half][tile of columns][digit][chunk][lane][register]. Chunks and halves begin in
  /// different banks for those who write them.
  [[nodiscard]] constexpr Int half_words(Int chunks) const { return kHalfTiles * chunks * kChunkWords + 8; }
  [[nodiscard]] constexpr Int digit_words(Int chunks) const { return halves() * half_words(chunks); }
  /// Neurons of a row, where rows follow each other.
  [[nodiscard]] constexpr Int row_words() const { return quads() * kQuad; }
  /// What other blocks of the cluster load, of the rows that one block has: [quad of neurons][row][neuron]. Quads begin
  /// in different banks. Behind the deltas is the largest one of each neuron.
  [[nodiscard]] constexpr Int quad_words() const { return kQuad * tile + 8; }
  [[nodiscard]] constexpr Int sum_words() const { return quads() * quad_words(); }
  [[nodiscard]] constexpr Int delta_words() const { return sum_words() + row_words(); }
  /// Weights of the block's columns as floats: [neuron][column].
  [[nodiscard]] constexpr Int pitch() const { return round_up(columns(), Int(kQuad)) + kQuad; }

  // Words in global memory of a block with several passes: the rows of all passes, one after the other; the gradient of
  // the passes so far, [item][neuron of a quad][lane][column of a quad].

  [[nodiscard]] constexpr Int all_rows_words() const { return passes * rows_words(); }
  [[nodiscard]] constexpr Int gradient_words() const { return column_chunks() * kByteDepth * halves() * kHalfNeurons; }
  [[nodiscard]] constexpr Int padded_words() const { return passes > 1 ? all_rows_words() + gradient_words() : Int(0); }

  // Packets: a neuron's columns by quads. Those of the gradients are [part][owner][cluster][packet of the owner],
  // those of the new weights [part][packet].

  [[nodiscard]] constexpr Int packets_of() const { return ceil_div(columns(), Int(kQuad)); }
  [[nodiscard]] constexpr Int packets_each() const { return neurons * packets_of(); }
  [[nodiscard]] constexpr Int owned() const { return ceil_div(packets_each(), clusters()); }
  [[nodiscard]] constexpr Int totals_at() const { return blocks * clusters() * owned(); }
  [[nodiscard]] constexpr Int packets() const { return totals_at() + parts * packets_each(); }
};

/// The pieces of shared memory, in words. With several passes rows are there twice: of the pass whose gradient is still
/// to be found, and of the next one. With one pass digits of the deltas begin where `sums` do, and the workspace of the
/// other layers where `weights` do: they are not needed at the same time.
template <class Int>
struct ClusterPieces {
  Int rows;
  Int weights;  ///< digits, or floats where the rows are no bytes
  Int sums;     ///< the block's part, of all rows of the cluster
  Int digits;   ///< of the deltas of all rows of the cluster, or floats where the rows are no bytes
  Int deltas;   ///< of the block's rows
  Int upper;    ///< of the other layers: the gradient of the passes so far. One pass: none
  Int factors;  ///< of a neuron's weights, and of its deltas
  Int own;      ///< see kOwnArrays
  Int targets;  ///< of the block's rows
  Int box, control;
  ResidentPieces<Int> others;  ///< layers

  constexpr ClusterPieces(const ClusterShape<Int>& of, const ResidentShape<Int>& other)
      : rows(of.rows_words()),
        weights(larger(of.digit_words(of.column_chunks()), of.neurons * of.pitch())),
        sums(of.parts * of.sum_words()),
        digits(larger(of.digit_words(of.row_chunks()), of.room() * of.row_words())),
        deltas(of.delta_words()),
        upper(of.passes > 1 ? round_up(other.shares_at(other.count, Int(kPassShares)), Int(4)) : Int(0)),
        factors(2 * of.halves() * kHalfNeurons),
        own(kOwnArrays * kQuad * of.owned()),
        targets(round_up(of.tile * other.out(other.count - 1), Int(4))),
        box(4),
        control(32),
        others(other, kRowsShared, of.blocks) {
    if (of.passes > 1) {
      rows *= 2;
      others.workspace = other.workspace(false);
      return;
    }
    sums = larger(sums, digits);
    digits = 0;
    weights = larger(weights, others.workspace);
    others.workspace = 0;
  }
  [[nodiscard]] constexpr Int words() const {
    return others.words() + rows + weights + sums + digits + deltas + upper + factors + own + targets + box + control;
  }
};

}  // namespace heddle::mlp
