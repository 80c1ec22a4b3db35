// The search space of the CUDA mapping.
#pragma once

#include <cstdint>
#include <vector>

#include "heddle/kernels/search_space.hpp"

namespace heddle::tsk {

/// `order`: of the consequents.
[[nodiscard]] SearchSpace cuda_space(const DeviceIdentity& device, int order);

/// Resident blocks: one on every multiprocessor, or fewer. Falling.
[[nodiscard]] std::vector<std::int64_t> resident_blocks(const DeviceIdentity& device);

}  // namespace heddle::tsk
