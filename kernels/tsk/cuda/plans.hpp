// The plans of the CUDA mapping.
#pragma once

#include <cstdint>

#include "heddle/kernels/plan.hpp"
#include "heddle/kernels/search_space.hpp"

namespace heddle::tsk {

/// Mapping::plan() of the CUDA mapping.
[[nodiscard]] Plan cuda_plan(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device,
                             int order, std::int64_t iterations);

/// The schemes whose launches follow each other in every iteration: graph and sample.
[[nodiscard]] Plan launched_plan(const Configuration& configuration, const Problem& problem,
                                 const DeviceIdentity& device, int order, std::int64_t iterations);

}  // namespace heddle::tsk
