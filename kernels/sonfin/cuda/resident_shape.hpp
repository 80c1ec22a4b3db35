// The schemes whose parameters stay on chip for many samples, `block`, `cluster` and `grid`: sizes of a configuration,
// and its plan. The kernels are in resident.cuh.
#pragma once

#include <cstdint>

#include "heddle/kernels/kernel_family.hpp"
#include "heddle/kernels/sonfin/cuda/records.cuh"
#include "heddle/kernels/sonfin/cuda/storage.cuh"
#include "heddle/kernels/sonfin/layout.hpp"

namespace heddle::sonfin {

[[nodiscard]] bool is_resident(const Configuration& configuration);

/// A configuration of these schemes in numbers; names as in cells.cuh.
struct ResidentShape {
  enum class Link { block, cluster, grid };
  enum class Storage { registers, shared, split, halves, stream };

  std::int64_t block, lanes, rules, vector;
  Storage storage;
  Link link;
  /// Of a grid: records.cuh.
  std::int64_t first_look = kFirstLook, packets_of_cycle = kPacketsOfCycle, replicas = kReplicas;
  std::int64_t rows_ahead = 1;  ///< cells.cuh
  // Of Storage::stream: of a thread's rules those on chip, and how many packs of the others are requested ahead.
  std::int64_t kept_rules = 0, packs_ahead = kPacksAhead;
  std::int64_t moved_packs = 0;                     ///< of Storage::halves: cells.cuh
  std::int64_t packs = 0, outputs = 0, blocks = 0;  ///< by the problem

  ResidentShape(const Configuration& configuration, const Problem& problem)
      : ResidentShape(ResidentShape(configuration).at(problem)) {}
  /// Without what depends on the problem.
  explicit ResidentShape(const Configuration& configuration);
  [[nodiscard]] ResidentShape at(const Problem& problem) const;
  [[nodiscard]] std::int64_t rules_per_block() const { return block / lanes * rules; }
  [[nodiscard]] std::int64_t warps() const { return block / 32; }
  /// Whether the threads of a rule are more than a warp.
  [[nodiscard]] bool several_warps() const { return lanes > 32; }
  /// What a block hands in for an exchange: a record of every warp, or of every group of several warps.
  [[nodiscard]] std::int64_t records_of_block() const;
  /// Lanes of a warp that get different outputs.
  [[nodiscard]] std::int64_t value_lanes() const;
  /// How a warp adds up the records of a round; not of a grid, whose packets are added up otherwise.
  [[nodiscard]] RecordTurns turns() const;
  /// The number of sums that a round adds up, in whole turns.
  [[nodiscard]] std::int64_t records() const;
  /// How the blocks of a grid wait for the packets of a round.
  [[nodiscard]] PacketTurns packet_turns() const;
  /// What the templates call the storage: storage.cuh.
  [[nodiscard]] int storage_code() const;
  /// Of a thread's rules those whose parameters are not on chip, and the global memory that these take, of all blocks.
  [[nodiscard]] std::int64_t streamed_rules() const;
  [[nodiscard]] std::int64_t streamed_bytes() const;
  /// Registers of a thread, roughly: what it keeps, and what it works with.
  [[nodiscard]] std::int64_t registers() const;
  /// Of a thread's rules: how many have their centres in registers, and how many their widths, both added up.
  [[nodiscard]] std::int64_t rules_in_registers() const;
  /// Those of parameters and rows.
  [[nodiscard]] std::int64_t kept_registers() const;
  [[nodiscard]] std::int64_t shared_bytes() const;
  [[nodiscard]] Kernels kernels() const;
  /// Adds scratch and launches to a plan that has these kernels and the buffers of all schemes.
  void write(Plan& plan, const Layout& where, std::int64_t samples) const;
};

}  // namespace heddle::sonfin
