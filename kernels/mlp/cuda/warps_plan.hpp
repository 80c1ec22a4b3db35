// The plan of scheme = warps: warps.cuh.
#pragma once

#include <cstdint>

#include "heddle/kernels/mlp/cuda/warps_sizes.cuh"
#include "heddle/kernels/mlp/train.hpp"

namespace heddle::mlp {

/// The blocks that do all steps of a run in one launch, with their rows in the registers of warps.
struct WarpsLayout {
  std::int64_t blocks;
  WarpsShape<std::int64_t> shape;
  std::int64_t threads;       ///< of a block, those of the warp that counts the steps with them
  std::int64_t packets;       ///< of all exchanges
  std::int64_t shared_bytes;  ///< of a block

  /// Whether a network is one that scheme = warps is for.
  [[nodiscard]] static bool takes(const Layers& layers);
  /// `layers`: such a network; `rows`: of a step; `threads`: of a block that have rows.
  WarpsLayout(const Layers& layers, std::int64_t rows, std::int64_t blocks, std::int64_t threads);
};

/// Adds the scratch buffers, the kernels and the launches of a run of `length` to a plan that has training_buffers().
void add_warps(Plan& plan, const WarpsLayout& layout, const RunLength& length);

}  // namespace heddle::mlp
