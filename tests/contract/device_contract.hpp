// What every device has to keep: written once, run for each of them.
#pragma once

#include <cstddef>

#include "heddle/runtime/device/device.hpp"

namespace heddle {

/// For every family that has templates for `device`, and for sizes that divide nothing: the default configuration, the
/// named ones and `sampled` others per problem are compiled as one batch, verified from poisoned memory as
/// docs/design.md says (kernels/kernel_family.hpp, Purpose::verification), checked for overruns, and repeated bit for
/// bit after restore(). Reports through doctest.
void run_device_contract(Device& device, std::size_t sampled, unsigned seed);

}  // namespace heddle
