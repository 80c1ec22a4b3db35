// The CPU of this machine.
#pragma once

#include <string>

#include "heddle/kernels/device_identity.hpp"

namespace heddle {

/// Model, best instruction set, cores this process may use, caches. What the system does not tell stays 0 or "cpu".
[[nodiscard]] DeviceIdentity processor_identity();
/// Everything that decides what -march=native means here: vendor, model and features as the kernel lists them.
[[nodiscard]] std::string processor_features();

}  // namespace heddle
