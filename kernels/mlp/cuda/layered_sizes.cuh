// How the kernels of scheme = layered cut their products into tiles. Compiled by the C++ compiler too, so no other
// header is included.
#pragma once

namespace heddle::mlp {

constexpr int kStage = 32;                                  ///< addends of a tile that are in shared memory at a time
constexpr int kStagePitch = kStage + 4;                     ///< words from line to line there
constexpr int kLayeredBlock = 256;                          ///< threads of the kernels that are no products
constexpr int kMostSquares = 1024;                          ///< blocks that sum squared errors
constexpr int kLearnWords = 2 * (kLayeredBlock / 32) + 32;  ///< of shared memory that learn_layered() takes

constexpr int kMostSummands = 1024;  ///< threads of a block that adds up plain sums

/// Threads of a block that computes a tile of Tile x Tile sums.
[[nodiscard]] constexpr int threads_of_tile(int tile) { return 4 * tile; }
/// Words of shared memory of such a block: both factors.
[[nodiscard]] constexpr int words_of_tile(int tile) { return 2 * tile * kStagePitch; }

}  // namespace heddle::mlp
