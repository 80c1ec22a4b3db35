// The plan of scheme = online: online.cuh.
#pragma once

#include <cstdint>

#include "heddle/kernels/mlp/train.hpp"

namespace heddle::mlp {

/// Bytes of shared memory of the block.
[[nodiscard]] std::int64_t online_bytes(const Layers& layers);

/// Adds kernel and launch of a run of `length`, whose steps take one row each, to a plan that has training_buffers().
void add_online(Plan& plan, const Layers& layers, std::int64_t threads, const RunLength& length);

}  // namespace heddle::mlp
