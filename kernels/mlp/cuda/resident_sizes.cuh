// How the blocks of scheme = resident lay their part of the work out in shared memory and in packets. Compiled by the
// C++ compiler too, so only headers of that kind are included.
//
// Every product is done by the tensor cores in tiles of 16 x 8 with 16 addends (products.cuh), so all matrices are
// padded with zeros to whole tiles. The values of a layer have one more column, of ones: its weights are the biases.
#pragma once

#include "heddle/kernels/mlp/control.cuh"

namespace heddle::mlp {

template <class Int>
[[nodiscard]] constexpr Int ceil_div(Int a, Int b) {
  return (a + b - 1) / b;
}
template <class Int>
[[nodiscard]] constexpr Int round_up(Int a, Int b) {
  return ceil_div(a, b) * b;
}
template <class Int>
[[nodiscard]] constexpr Int smaller(Int a, Int b) {
  return a < b ? a : b;
}
template <class Int>
[[nodiscard]] constexpr Int larger(Int a, Int b) {
  return a > b ? a : b;
}

/// Where the rows of a block's tile are.
enum RowsIn {
  kRowsShared = 0,  ///< in shared memory, as floats
  kRowsBytes = 1,   ///< in shared memory, as bytes, if each is a whole number from 0 to 255, or such a number / 255
  kRowsGlobal = 2,  ///< in global memory, as floats
};

constexpr int kDepth = 16;        ///< addends of a product that a warp takes at a time
constexpr int kTileRows = 16;     ///< of a product: rows
constexpr int kTileColumns = 8;   ///< columns
constexpr int kPacketValues = 3;  ///< of a packet
constexpr int kPacketWords = 4;
/// Packets that a thread awaits together. Times the lanes of a warp, it is the most blocks of a grid.
constexpr int kPolls = 6;
constexpr int kManyPolls = 12;  ///< where each thread awaits many
/// Arrays of a parameter that its owner keeps: itself, its states, its gradient.
constexpr int kOwnArrays = kStateArrays + 2;
/// From so many chunks of addends on, warps that would have none share the addends of an output; from so many on, a
/// warp also sums several tiles of rows at a time.
constexpr int kSharedChunks = 8, kDeepChunks = 16;
constexpr int kMostRowTiles = 5;     ///< tiles of rows that a warp sums at a time, of a deep product
constexpr int kMostColumnTiles = 4;  ///< tiles of columns

/// Columns of the values of a layer of n neurons, that of ones and zeros with them.
template <class Int>
[[nodiscard]] constexpr Int value_columns(Int n) {
  return n + 1 <= 16 ? Int(16) : round_up(n + 1, Int(32));
}
/// Columns of the deltas of a layer of n neurons.
template <class Int>
[[nodiscard]] constexpr Int delta_columns(Int n) {
  return n <= 16 ? Int(16) : round_up(n, Int(32));
}
/// Words from row to row: rows next to each other begin in different banks.
template <class Int>
[[nodiscard]] constexpr Int pitch_of(Int columns) {
  return columns % 32 == 0 ? columns + 4 : columns;
}

/// A network, and how `warps` warps of a block share the work of a layer for a tile of `tile` rows (a multiple of 16).
/// Layer l, from 0, takes sizes[l] values to sizes[l + 1] neurons.
template <class Int>
struct ResidentShape {
  Int count = 0;
  Int sizes[kMostLayers + 1] = {};
  Int warps = 0, tile = 0;

  [[nodiscard]] constexpr Int in(Int l) const { return sizes[l]; }
  [[nodiscard]] constexpr Int out(Int l) const { return sizes[l + 1]; }
  [[nodiscard]] constexpr Int value_pitch(Int l) const { return pitch_of(value_columns(sizes[l])); }
  [[nodiscard]] constexpr Int delta_pitch(Int l) const { return pitch_of(delta_columns(sizes[l + 1])); }
  /// Words of the weights of a layer, and where they begin among those of all.
  [[nodiscard]] constexpr Int weight_words(Int l) const { return out(l) * value_pitch(l); }
  [[nodiscard]] constexpr Int weights_at(Int l) const {
    Int words = 0;
    for (Int i = 0; i < l; ++i) words += weight_words(i);
    return words;
  }

  /// Forward: tiles of rows and columns that a warp sums at a time, groups of them, and warps that share the addends.
  [[nodiscard]] constexpr Int chunks(Int l) const { return ceil_div(in(l) + 1, Int(kDepth)); }
  [[nodiscard]] constexpr Int row_tiles(Int l) const {
    Int tiles = 1;
    for (Int t = 2; t <= kMostRowTiles; ++t) {
      if (chunks(l) >= kDeepChunks && tile / kTileRows % t == 0) tiles = t;
    }
    return tiles;
  }
  [[nodiscard]] constexpr Int column_tiles(Int l) const {
    const Int most = smaller(ceil_div(out(l), Int(kTileColumns)), Int(kMostColumnTiles));
    // Warps that would have nothing to do take a column each.
    return chunks(l) < kSharedChunks && tile / kTileRows * ceil_div(out(l), Int(kTileColumns)) <= warps ? Int(1) : most;
  }
  [[nodiscard]] constexpr Int column_groups(Int l) const { return ceil_div(out(l), kTileColumns * column_tiles(l)); }
  [[nodiscard]] constexpr Int groups(Int l) const { return tile / kTileRows / row_tiles(l) * column_groups(l); }
  /// 1, or an even number.
  [[nodiscard]] constexpr Int sharing(Int l) const {
    const Int share = warps / groups(l) / 2 * 2;
    return chunks(l) >= kSharedChunks && share >= 2 ? share : Int(1);
  }
  /// Sums of one warp of a group.
  [[nodiscard]] constexpr Int group_words(Int l) const { return row_tiles(l) * column_tiles(l) * 4 * 32; }
  [[nodiscard]] constexpr Int forward_words(Int l) const {
    return sharing(l) > 1 ? sharing(l) / 2 * groups(l) * group_words(l) : Int(0);
  }

  /// Backward: neighbouring neurons before the layer that a lane has. Fewer, if there are warps for them.
  [[nodiscard]] constexpr Int back_width(Int l) const {
    return value_width(l) == 4 && tile / kTileRows * ceil_div(in(l), Int(16)) <= warps ? Int(2) : value_width(l);
  }

  /// Gradient: values (rows of the product) and deltas (columns) of a lane, items of a warp, warps that share the rows
  /// of an item.
  /// The last warp of several has other work meanwhile.
  [[nodiscard]] constexpr Int gradient_warps() const { return larger(warps - 1, Int(1)); }
  [[nodiscard]] constexpr Int value_width(Int l) const { return value_columns(in(l)) % 32 == 0 ? Int(4) : Int(2); }
  [[nodiscard]] constexpr Int delta_width(Int l) const { return out(l) <= 8 ? Int(1) : out(l) <= 16 ? Int(2) : Int(4); }
  [[nodiscard]] constexpr Int value_groups(Int l) const { return ceil_div(in(l) + 1, 8 * value_width(l)); }
  [[nodiscard]] constexpr Int items(Int l) const { return value_groups(l) * ceil_div(out(l), 8 * delta_width(l)); }
  [[nodiscard]] constexpr Int row_sharing(Int l) const {
    return items(l) * 2 > gradient_warps() ? Int(1) : smaller(gradient_warps() / items(l), tile / kDepth);
  }
  /// Of `taking` warps the one that has the first item of a layer, with `most` shares of its rows: the next one after
  /// those that the layers before end with.
  [[nodiscard]] constexpr Int first_warp(Int l, Int taking, Int most) const {
    Int units = 0;
    for (Int i = 0; i < l; ++i) units += items(i) * shares(i, most);
    return units % taking;
  }
  /// Where the parts of a layer's gradient lie among those of all; those of one part lie over the weights.
  [[nodiscard]] constexpr Int parts_at(Int l) const {
    Int words = 0;
    for (Int i = 0; i < l; ++i) words += row_sharing(i) > 1 ? row_sharing(i) * weight_words(i) : Int(0);
    return words;
  }

  /// Shares of the rows of a layer's gradient, if there are `most` at most, and where their parts lie among those of
  /// all layers, where those of one share have room of their own, too.
  [[nodiscard]] constexpr Int shares(Int l, Int most) const { return smaller(row_sharing(l), most); }
  [[nodiscard]] constexpr Int shares_at(Int l, Int most) const {
    Int words = 0;
    for (Int i = 0; i < l; ++i) words += shares(i, most) * weight_words(i);
    return words;
  }

  /// Words in which warps leave each other what is not done: sums, what an owner gets and, if they have no room of
  /// their own, `parts` of the gradient.
  [[nodiscard]] constexpr Int workspace(bool parts) const {
    Int words = larger(parts ? parts_at(count) : Int(0), warps * 32 * kPacketValues);
    for (Int l = 0; l < count; ++l) words = larger(words, forward_words(l));
    return words;
  }

  /// Packets of a neuron's parameters of layer l, and of all.
  [[nodiscard]] constexpr Int packets_of(Int l) const { return ceil_div(in(l) + 1, Int(kPacketValues)); }
  [[nodiscard]] constexpr Int packets_at(Int l) const {
    Int packets = 0;
    for (Int i = 0; i < l; ++i) packets += out(i) * packets_of(i);
    return packets;
  }
  [[nodiscard]] constexpr Int packets() const { return packets_at(count); }
};

/// The packets of a grid: those of the gradients, [owner][block][packet of the owner]; those of the new parameters,
/// [step modulo 2][copy][packet]; those of the errors, [step modulo 2][copy][block].
template <class Int>
struct ResidentPackets {
  Int blocks;
  Int all;  ///< ResidentShape::packets()

  [[nodiscard]] constexpr Int owned() const { return ceil_div(all, blocks); }
  /// Copies of what every block reads, so that not all poll the same lines.
  [[nodiscard]] constexpr Int copies() const { return blocks < 32 ? Int(1) : all > 2048 ? Int(2) : Int(8); }
  [[nodiscard]] constexpr Int error_copies() const { return blocks < 32 ? Int(1) : Int(8); }
  [[nodiscard]] constexpr Int totals_at() const { return blocks * blocks * owned(); }
  [[nodiscard]] constexpr Int errors_at() const { return totals_at() + 2 * copies() * all; }
  [[nodiscard]] constexpr Int count() const { return errors_at() + 2 * error_copies() * blocks; }
};

/// The pieces of shared memory, in words.
template <class Int>
struct ResidentPieces {
  Int rows, weights, values, deltas, workspace, own, places, losses, verdict;

  constexpr ResidentPieces(const ResidentShape<Int>& shape, Int rows_in, Int blocks)
      : rows(rows_in == kRowsShared  ? shape.tile * shape.value_pitch(0)
             : rows_in == kRowsBytes ? shape.tile * value_columns(shape.in(0)) / 4
                                     : Int(0)),
        weights(shape.weights_at(shape.count)),
        values(0),
        deltas(0),
        workspace(shape.workspace(true)),
        own(round_up(kOwnArrays * kPacketValues * ceil_div(shape.packets(), blocks), Int(4))),
        places(shape.tile),
        losses(2 * shape.warps),
        verdict(32) {
    for (Int l = 0; l < shape.count; ++l) {
      if (l > 0) values += shape.tile * shape.value_pitch(l);
      deltas += shape.tile * shape.delta_pitch(l);
    }
  }
  [[nodiscard]] constexpr Int words() const {
    return rows + weights + values + deltas + workspace + own + places + losses + verdict;
  }
};

}  // namespace heddle::mlp
