// How the kernels of kept.cuh cut their work into tiles, and divide their shared memory. Compiled by the C++ compiler
// too, so no other header is included.
#pragma once

namespace heddle::tsk {

/// A block of fire_kept has a tile of rows x rules, of which each thread has a part. `depth` inputs are in shared
/// memory at a time.
struct FireTile {
  int rows, rules, thread_rows, thread_rules, depth;

  [[nodiscard]] constexpr int across() const { return rules / thread_rules; }  ///< threads
  [[nodiscard]] constexpr int threads() const { return rows / thread_rows * across(); }
  // A pad of one word a row keeps the transposed stores of neighbouring threads in different banks.
  [[nodiscard]] constexpr int row_pitch() const { return rows + 1; }
  [[nodiscard]] constexpr int rule_pitch() const { return rules + 1; }
  [[nodiscard]] constexpr int words() const { return depth * (row_pitch() + 2 * rule_pitch()); }
};

// multiply_kept.
constexpr int kTile = 64;                                              ///< columns x columns of a block
constexpr int kTileSide = 4;                                           ///< of a thread
constexpr int kTilePitch = kTile + 2;                                  ///< doubles from row to row in shared memory
constexpr int kTileBlock = (kTile / kTileSide) * (kTile / kTileSide);  ///< threads

/// The pieces of multiply_kept.
struct MultiplyPieces {
  int side;  ///< doubles, twice: the columns of the left and of the right factor, `depth` rows of them

  explicit constexpr MultiplyPieces(int depth) : side(depth * kTilePitch) {}
  [[nodiscard]] constexpr int words() const { return 2 * 2 * side; }
};

/// The pieces of compare_kept.
template <class Int>
struct ComparePieces {
  Int squares;  ///< doubles: two of every warp
  Int outputs;  ///< floats, twice: errors and outputs of the row of every warp

  constexpr ComparePieces(Int warps, Int outputs_of_row) : squares(2 * warps), outputs(warps * outputs_of_row) {}
  [[nodiscard]] constexpr Int words() const { return 2 * squares + 2 * outputs; }
};

/// The pieces of slopes_kept: a block has a tile of rules x inputs, a thread one of each, and `depth` rows of them are
/// in shared memory at a time. `across`: inputs of a tile.
struct SlopesTile {
  int down;    ///< rules of a tile
  int rules;   ///< floats
  int inputs;  ///< floats

  constexpr SlopesTile(int threads, int across, int depth)
      : down(threads / across), rules(depth * down), inputs(depth * across) {}
  [[nodiscard]] constexpr int words() const { return rules + inputs; }
};

}  // namespace heddle::tsk
