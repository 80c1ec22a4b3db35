// Configurations of the CUDA mapping in numbers. What the kernels compute as well comes from the headers that they
// share with the host: sizes.cuh, kept_sizes.cuh, resident_sizes.cuh.
#pragma once

#include <cstdint>
#include <string_view>

#include "heddle/kernels/common/cuda_limits.hpp"
#include "heddle/kernels/problem.hpp"
#include "heddle/kernels/search_space.hpp"
#include "heddle/kernels/tsk/cuda/kept_sizes.cuh"
#include "heddle/kernels/tsk/cuda/resident_sizes.cuh"
#include "heddle/kernels/tsk/cuda/sizes.cuh"

namespace heddle::tsk {

using cuda::kWarp;

constexpr std::int64_t kWord = 4;  ///< bytes of a float, of an int32

/// Whether the configuration has this word for a parameter.
[[nodiscard]] bool is(const Configuration& configuration, const char* parameter, std::string_view word);
/// Whether both passes compute the activations in shared memory.
[[nodiscard]] bool recomputes(const Configuration& configuration);
[[nodiscard]] bool is_resident(const Configuration& configuration);
[[nodiscard]] bool solves_in_block(const Configuration& configuration);
/// Pieces that the rows come in.
[[nodiscard]] std::int64_t pieces_of(const Configuration& configuration);

using HostSizes = Sizes<std::int64_t>;
[[nodiscard]] HostSizes sizes_of(const Problem& problem, int order);
/// Doubles of a row of the buffer "gram".
[[nodiscard]] std::int64_t gram_pitch(const HostSizes& sizes);
/// Bytes of shared memory that solve() takes.
[[nodiscard]] std::int64_t solve_bytes(const HostSizes& sizes);

/// A block of the passes that compute activations in shared memory: tile.cuh.
struct TileShape {
  std::int64_t rows, lanes, side;

  explicit TileShape(const Configuration& configuration);
  [[nodiscard]] std::int64_t block() const { return rows * lanes; }
  /// Doubles of a row: an odd number of pairs, so that the rows of neighbouring threads start in different banks.
  [[nodiscard]] std::int64_t pitch(const HostSizes& sizes) const;
  [[nodiscard]] static std::int64_t phi_pitch(const HostSizes& sizes) { return sizes.rules | 1; }
  [[nodiscard]] std::int64_t accumulate_bytes(const HostSizes& sizes) const;
  [[nodiscard]] std::int64_t descend_bytes(const HostSizes& sizes) const;
};

/// The kernels of kept.cuh.
inline constexpr FireTile kFire{.rows = 64, .rules = 64, .thread_rows = 4, .thread_rules = 4, .depth = 16};
inline constexpr std::int64_t kKeptBlock = 256;     ///< threads
inline constexpr std::int64_t kCompareBlock = 512;  ///< threads of compare_kept
inline constexpr std::int64_t kDepth = 16;          ///< rows of a tile in shared memory
[[nodiscard]] std::int64_t compare_bytes(const HostSizes& sizes);

/// The blocks that do all iterations in one launch: resident.cuh.
struct ResidentShape {
  static constexpr std::int64_t kMostBlocks = kPolls * kWarp;

  std::int64_t real;  ///< bytes
  std::int64_t threads;
  std::int64_t sets;  ///< of rows that a warp takes together
  std::int64_t blocks;
  std::int64_t column_tiles, rule_tiles;
  std::int64_t most;          ///< elements of an exchange
  std::int64_t packets;       ///< of all exchanges
  std::int64_t shared_bytes;  ///< of a block

  ResidentShape(const Configuration& configuration, const HostSizes& sizes, std::int64_t rows);
  /// Rows that a block takes at a time.
  [[nodiscard]] static std::int64_t rows_at_once(const Configuration& configuration);
  /// Of a thread, roughly: the normal equations in one pass; antecedents and slopes of its rules in the other.
  [[nodiscard]] std::int64_t registers(std::int64_t dim) const;
};

}  // namespace heddle::tsk
