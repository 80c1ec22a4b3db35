// The plan of scheme = cluster: cluster.cuh.
#pragma once

#include <cstdint>

#include "heddle/kernels/mlp/cuda/cluster_sizes.cuh"
#include "heddle/kernels/mlp/train.hpp"

namespace heddle::mlp {

/// The clusters whose blocks divide the first layer among them and do all steps of a run in one launch.
struct ClusterLayout {
  std::int64_t threads;
  ClusterShape<std::int64_t> first;
  ResidentShape<std::int64_t> others;  ///< layers
  std::int64_t packets;                ///< of all exchanges
  std::int64_t padded;                 ///< words of all blocks in global memory; 0: they have everything on chip
  std::int64_t shared_bytes;           ///< of a block

  /// Of a network with a hidden layer; `rows`: of a step; `parts`, an even number that divides `blocks`: of the inputs;
  /// `pass_rows`: of a block in a pass at most, 0: all.
  ClusterLayout(const Layers& layers, std::int64_t rows, std::int64_t blocks, std::int64_t parts, std::int64_t threads,
                std::int64_t pass_rows);
  /// Whether every block has a part of the first layer's weights.
  [[nodiscard]] bool all_have_some() const;
};

/// Adds the scratch buffers, the kernels and the launches of a run of `length` to a plan that has training_buffers().
void add_cluster(Plan& plan, const ClusterLayout& layout, const RunLength& length);

}  // namespace heddle::mlp
