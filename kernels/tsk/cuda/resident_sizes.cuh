// How the blocks of scheme = resident share their work and divide their memory. Compiled by the C++ compiler too. See
// sizes.cuh.
#pragma once

#include "heddle/kernels/tsk/cuda/sizes.cuh"

namespace heddle::tsk {

/// Rows that a warp takes side by side; its other lanes are the elements of a tile of rules or columns.
constexpr int kRowsOfSet = 4;
constexpr int kLanesOfRow = 8;
/// Threads next to each other along a row of the normal equations' matrix.
constexpr int kThreadsAcross = 16;
/// Pivots that are eliminated together.
constexpr int kPivotsOfPanel = 2;

/// Tiles that so many rules or columns fill.
template <class Int>
[[nodiscard]] constexpr Int resident_tiles(Int count) {
  return ceil_div(count, kLanesOfRow);
}

/// Rows of the matrix that is solved: whole rows of threads.
template <class Int>
[[nodiscard]] constexpr Int resident_side(Int column_tiles) {
  return ceil_div(kLanesOfRow * column_tiles, kThreadsAcross) * kThreadsAcross;
}

/// The pieces of a block of `warps` warps that take `sets` sets of rows together.
template <class Int>
struct ResidentPieces {
  Int parts;        ///< doubles: the sums of every warp in either pass
  Int sums;         ///< doubles: the most elements of an exchange
  Int pivots;       ///< doubles: the columns of two panels of pivots
  Int antecedents;  ///< Reals, three times: centres, widths and their inverses; floats, twice: those of the best system
  Int consequents;  ///< Reals, and floats: the same
  Int phi;          ///< Reals

  constexpr ResidentPieces(const Sizes<Int>& sizes, Int warps, Int sets, Int column_tiles)
      : parts(larger(warps * triangle(column_tiles) * kLanesOfRow * kLanesOfRow, warps * kRowsOfSet * sizes.slopes())),
        sums(larger(sizes.gram_elements(), sizes.slopes())),
        pivots(2 * kPivotsOfPanel * resident_side(column_tiles)),
        antecedents(sizes.tasks()),
        consequents(sizes.consequents()),
        phi(sizes.terms > 1 ? warps * sets * kRowsOfSet * sizes.rules : 0) {}
  /// `real`: words of a Real.
  [[nodiscard]] constexpr Int words(Int real) const {
    return 2 * (parts + sums + pivots) + real * (3 * antecedents + consequents + phi) + 2 * antecedents + consequents;
  }

 private:
  [[nodiscard]] static constexpr Int larger(Int a, Int b) { return a > b ? a : b; }
};

/// Packets that a thread awaits together. Times the lanes of a warp, it is the most blocks of a grid.
constexpr int kPolls = 6;
constexpr int kPacketBytes = 16;

/// The packets of GridSums: [owner][element of the owner][block], then [replica][element].
template <class Int>
struct GridPackets {
  Int blocks;
  Int most;  ///< elements of a round

  /// Elements that a block owns, at most.
  [[nodiscard]] constexpr Int owned() const { return ceil_div(most, blocks); }
  /// Copies of every sum, so that not all blocks poll the same lines.
  [[nodiscard]] constexpr Int replicas() const { return blocks < 32 ? 1 : blocks < 128 ? blocks / 16 : 8; }
  /// Where the sums begin.
  [[nodiscard]] constexpr Int totals() const { return blocks * owned() * blocks; }
  [[nodiscard]] constexpr Int count() const { return totals() + replicas() * most; }
};

}  // namespace heddle::tsk
