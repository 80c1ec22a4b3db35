// Configurations of the CUDA mapping of mlp-train: which scheme they have, and its layout in numbers.
#pragma once

#include <cstdint>
#include <string_view>

#include "heddle/kernels/mlp/cuda/cluster_plan.hpp"
#include "heddle/kernels/mlp/cuda/layered_plan.hpp"
#include "heddle/kernels/mlp/cuda/neurons_plan.hpp"
#include "heddle/kernels/mlp/cuda/resident_plan.hpp"
#include "heddle/kernels/mlp/cuda/spread_plan.hpp"
#include "heddle/kernels/mlp/cuda/warps_plan.hpp"
#include "heddle/kernels/search_space.hpp"

namespace heddle::mlp {

[[nodiscard]] bool is_layered(const Configuration& c);
[[nodiscard]] bool resides(const Configuration& c);
[[nodiscard]] bool is_spread(const Configuration& c);
[[nodiscard]] bool is_online(const Configuration& c);
[[nodiscard]] bool by_warps(const Configuration& c);
[[nodiscard]] bool in_clusters(const Configuration& c);
[[nodiscard]] bool by_neurons(const Configuration& c);

/// Whether a layered configuration computes its products like this.
[[nodiscard]] bool has_product(const Configuration& c, std::string_view name);
[[nodiscard]] bool in_tiles(const Configuration& c);
[[nodiscard]] bool by_thread(const Configuration& c);

/// Of scheme = resident.
[[nodiscard]] RowsIn rows_in(const Configuration& c);

/// Rows that a step learns from.
[[nodiscard]] std::int64_t step_rows(const Problem& problem);
/// Whether a step learns from a part of the rows.
[[nodiscard]] bool in_batches(const Problem& problem);

/// The layout of a configuration of the scheme that its name says. Of `spread`, `cluster` and `neurons`: for a network
/// with a hidden layer, and clusters that divide the blocks.
[[nodiscard]] LayeredShape layered_shape(const Configuration& c, const DeviceIdentity& device);
[[nodiscard]] ResidentLayout resident_layout(const Configuration& c, const Problem& problem);
[[nodiscard]] SpreadLayout spread_layout(const Configuration& c, const Problem& problem);
[[nodiscard]] ClusterLayout cluster_layout(const Configuration& c, const Problem& problem);
[[nodiscard]] NeuronsLayout neurons_layout(const Configuration& c, const Problem& problem);
[[nodiscard]] WarpsLayout warps_layout(const Configuration& c, const Problem& problem);

}  // namespace heddle::mlp
