// The float64 reference on a device: not itself a device's contract, but run on the same devices.
#pragma once

#include <cstdint>
#include <vector>

#include "heddle/kernels/problem.hpp"
#include "heddle/runtime/device/device.hpp"

namespace heddle {

/// Compares what the kernels of kernels/sonfin/cuda/reference.cuh make of every option set, of a timed run and of
/// predictions with kernels/sonfin/reference.cpp. `rules`, `dim`: of the largest network; `outputs`: of the one with
/// the most. Reports through doctest.
void check_device_reference(Device& device, int rules, int dim, int outputs);

/// Compares what timed runs of `samples` samples leave with the reference (tuner/verifier.hpp) for some configurations
/// of the families with a distance, at these problems of the SONFIN families, and says how far they are away. Reports
/// through doctest.
void check_timed_runs(Device& device, const std::vector<Problem>& problems, std::int64_t samples);

}  // namespace heddle
