// The float64 reference on a device: not itself a device's contract, but run on the same devices.
#pragma once

#include "heddle/runtime/device/device.hpp"

namespace heddle {

/// Compares what the kernels of kernels/sonfin/cuda/reference.cuh make of every option set, of a timed run and of
/// predictions with kernels/sonfin/reference.cpp. `rules`, `dim`: of the largest network; `outputs`: of the one with
/// the most. Reports through doctest.
void check_device_reference(Device& device, int rules, int dim, int outputs);

}  // namespace heddle
