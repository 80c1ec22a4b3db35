// The plan of scheme = online: online.cuh; with one warp: online_warp.cuh.
#pragma once

#include <cstdint>

#include "heddle/kernels/mlp/train.hpp"

namespace heddle::mlp {

/// Threads of a block that is one warp.
constexpr std::int64_t kOnlineWarp = 32;

/// Whether one warp has room for the network in its registers.
[[nodiscard]] bool fits_into_warp(const Layers& layers);

/// Bytes of shared memory of a block of several warps.
[[nodiscard]] std::int64_t online_bytes(const Layers& layers);

/// Adds kernel and launch of a run of `length`, whose steps take one row each, to a plan that has training_buffers().
void add_online(Plan& plan, const Layers& layers, std::int64_t threads, const RunLength& length);

}  // namespace heddle::mlp
