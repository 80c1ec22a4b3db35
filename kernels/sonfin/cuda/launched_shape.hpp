// The schemes that launch kernels for every sample, `graph` and `stepwise`: sizes of a configuration, and its plan. The
// kernels are in launched.cuh.
#pragma once

#include <cstdint>

#include "heddle/kernels/kernel_family.hpp"
#include "heddle/kernels/sonfin/layout.hpp"

namespace heddle::sonfin {

/// How the task matrix is laid over threads; names as in tile.cuh.
struct Tiling {
  std::int64_t block, lanes, inputs = 1, rules = 1, vector;

  explicit Tiling(const Configuration& configuration);
  [[nodiscard]] std::int64_t rules_per_block() const { return block / lanes * rules; }
  [[nodiscard]] std::int64_t span() const { return lanes * inputs * vector; }
  [[nodiscard]] std::int64_t blocks(std::int64_t total_rules) const;
};

/// A configuration of these schemes in numbers.
struct LaunchedShape : Tiling {
  std::int64_t kernels, combine;
  bool tree, graph, overlap;

  explicit LaunchedShape(const Configuration& configuration);
  /// Of the kernel that needs most.
  [[nodiscard]] std::int64_t shared_bytes(const Problem& problem) const;
  [[nodiscard]] Kernels kernels_of_plan(const Problem& problem) const;
  /// Adds scratch and launches to a plan that has these kernels and the buffers of all schemes.
  void write(Plan& plan, const Layout& where, const Problem& problem, std::int64_t samples) const;

 private:
  [[nodiscard]] std::int64_t reduce_words() const;
  /// Words of one of the two sets of records of `step`.
  [[nodiscard]] std::int64_t record_words(const Problem& problem) const;
  /// Warps of `combine` that share one output.
  [[nodiscard]] std::int64_t combine_parts(const Problem& problem) const;
  // The next three add up what the kernels take() from their SharedMemory.
  [[nodiscard]] std::int64_t sweep_bytes() const;
  [[nodiscard]] std::int64_t step_bytes(const Problem& problem) const;
  [[nodiscard]] std::int64_t combine_bytes(const Problem& problem) const;
  void write_fused(Plan& plan, const Layout& where, const Problem& problem, std::int64_t samples) const;
  void write_separate(Plan& plan, const Layout& where, const Problem& problem, std::int64_t samples) const;
};

}  // namespace heddle::sonfin
