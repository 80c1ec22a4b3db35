// The plan of scheme = spread: spread.cuh.
#pragma once

#include <cstdint>

#include "heddle/kernels/mlp/cuda/spread_sizes.cuh"
#include "heddle/kernels/mlp/train.hpp"

namespace heddle::mlp {

/// The blocks that do all steps of a run in one launch, and divide the first layer among them.
struct SpreadLayout {
  std::int64_t threads;
  SpreadShape<std::int64_t> first;
  ResidentShape<std::int64_t> others;  ///< layers
  std::int64_t packets;                ///< of all exchanges
  std::int64_t shared_bytes;           ///< of a block

  /// Of a network with a hidden layer; `rows`: of a step; `parts`, which divides `blocks`: of the inputs.
  SpreadLayout(const Layers& layers, std::int64_t rows, std::int64_t blocks, std::int64_t parts, std::int64_t threads);
  /// Whether every block has inputs and neurons of the first layer.
  [[nodiscard]] bool all_have_some() const;
};

/// Adds the scratch buffers, the kernels and the launches of a run of `length` to a plan that has training_buffers().
void add_spread(Plan& plan, const SpreadLayout& layout, const RunLength& length);

}  // namespace heddle::mlp
