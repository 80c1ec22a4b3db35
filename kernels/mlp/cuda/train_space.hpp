// The search space of the CUDA mapping of mlp-train.
#pragma once

#include <cstdint>
#include <vector>

#include "heddle/kernels/search_space.hpp"

namespace heddle::mlp {

[[nodiscard]] SearchSpace train_space(const DeviceIdentity& device);

/// Numbers of resident blocks, falling but for the second: as many as there are multiprocessors, the largest multiple
/// of 8 that leaves a sixteenth of them idle, and powers of two below. Multiprocessors lie in parts of a GPU, and those
/// of a part that are too few for a cluster remain idle.
[[nodiscard]] std::vector<std::int64_t> block_counts(const DeviceIdentity& device);

}  // namespace heddle::mlp
