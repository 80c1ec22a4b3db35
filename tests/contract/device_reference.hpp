// The float64 reference on a device: not itself a device's contract, but run on the same devices.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "heddle/kernels/problem.hpp"
#include "heddle/runtime/device/device.hpp"

namespace heddle {

/// Compares the results of kernels/sonfin/cuda/reference.cuh with those of kernels/sonfin/reference.cpp: for every
/// option set, for a timed run and for predictions. `rules`, `dim`: of the largest network; `outputs`: of the one with
/// the most. Reports through doctest.
void check_device_reference(Device& device, int rules, int dim, int outputs);

/// Compares the results of timed runs of `samples` samples with the reference (tuner/verifier.hpp), for some
/// configurations of these families at these problems, and says how far they are away. Reports through doctest.
void check_timed_runs(Device& device, const std::vector<std::string_view>& families,
                      const std::vector<Problem>& problems, std::int64_t samples);

}  // namespace heddle
