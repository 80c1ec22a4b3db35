// How the kernels of scheme = layered cut their products into tiles. Compiled by the C++ compiler too, so no other
// header is included.
#pragma once

namespace heddle::mlp {

constexpr int kOctet = 8;                                  ///< addends that an instruction of the tensor cores takes
constexpr int kChunk = 2 * kOctet;                         ///< that they sum before what they have is added up
constexpr int kStage = 2 * kChunk;                         ///< addends of a tile that arrive in shared memory together
constexpr int kStages = 3;                                 ///< that are there, or on their way
constexpr int kThreadsOfUnit = 512;                        ///< of blocks for tiles on a multiprocessor
constexpr int kLayeredBlock = 256;                         ///< threads of the kernels that are no products
constexpr int kMostSquares = 1024;                         ///< blocks that sum squared errors
constexpr int kWordsOfSquares = 2 * (kLayeredBlock / 32);  ///< of shared memory: sums of a block's warps
/// Of shared memory that learn_layered() takes: those, Counted, and a part of a gradient of each thread.
constexpr int kLearnWords = kWordsOfSquares + 32 + kLayeredBlock;

constexpr int kMostSummands = 1024;  ///< threads of a block that adds up plain sums

/// Words from addend to addend of a factor whose lines lie next to each other.
[[nodiscard]] constexpr int pitch_across(int lines) { return lines + (lines < 32 ? 8 : 4); }
/// Words of an octet of so many lines. Octets of lines Along begin half a row of banks apart.
[[nodiscard]] constexpr int words_of_octet(int lines, bool across) {
  return across ? kOctet * pitch_across(lines) : kOctet * lines + 16;
}
[[nodiscard]] constexpr int words_of_stage(int lines, bool across) {
  return kStage / kOctet * words_of_octet(lines, across);
}

/// A block computes m x n sums: m is 64 or 128, n is 16, 32, 64 or 128 and at most m.
struct TileShape {
  int m, n;

  /// Sums of a warp.
  [[nodiscard]] constexpr int warp_lines() const { return n == 128 ? 64 : 32; }
  [[nodiscard]] constexpr int warp_columns() const { return n < 32 ? n : 32; }
  [[nodiscard]] constexpr int warps_beside() const { return n / warp_columns(); }
  [[nodiscard]] constexpr int threads() const { return m / warp_lines() * warps_beside() * 32; }
  /// Blocks that a multiprocessor has registers for: 128 of a thread, or 255 with the largest tile.
  [[nodiscard]] constexpr int blocks_of_unit() const { return n == 128 ? 1 : kThreadsOfUnit / threads(); }
  /// Neighbouring columns of a lane.
  [[nodiscard]] constexpr int width() const { return warp_columns() / 8; }
  /// Of shared memory.
  [[nodiscard]] constexpr int words(bool left_across, bool right_across) const {
    return kStages * (words_of_stage(m, left_across) + words_of_stage(n, right_across));
  }
};

/// Outputs that one tile has all of: the product of the last layer makes their deltas, too.
constexpr int kOutputsOfTile = 32;

/// Lanes that make the outputs of a row of their sums: each has at most 8, as far as a warp has lanes.
[[nodiscard]] constexpr int lanes_of_row(int outputs) {
  int lanes = 1;
  while (lanes < 32 && 8 * lanes < outputs) lanes *= 2;
  return lanes;
}

/// Of the sums of the rows of a layer's values or deltas: rows begin on a multiple of 16 bytes.
[[nodiscard]] constexpr int padded_neurons(int neurons) { return (neurons + 3) / 4 * 4; }

/// A layer, and how the kernels for tiles find it.
struct TiledLayer {
  int weights, in, out;  ///< where its weights are among the parameters, and its sizes
  int in_pitch;          ///< from row to row of what it takes
  int out_pitch;         ///< of what it makes
  int parts;             ///< that its gradient consists of
  long long parts_at;    ///< where they are
  [[nodiscard]] constexpr int biases() const { return weights + in * out; }
};

constexpr int kMostRanges = 9;
/// Parameters from first[i] on and below first[i + 1] have a gradient of parts[i] parts, from at[i] on, one behind the
/// other.
struct GradientParts {
  int count;
  int first[kMostRanges + 1];
  int parts[kMostRanges];
  long long at[kMostRanges];
};

}  // namespace heddle::mlp
