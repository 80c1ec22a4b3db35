// What the expressions of a kernel's definition may ask for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "heddle/kernels/device_identity.hpp"
#include "heddle/kernels/expression/expression.hpp"
#include "heddle/kernels/problem.hpp"
#include "heddle/kernels/search_space.hpp"

namespace heddle {

/// What they may ask for of a device.
[[nodiscard]] const std::vector<std::string>& device_names();

/// The values of parameters, sizes and the device, of those that are not null. Absent things have no value. What is
/// given has to outlive the result.
[[nodiscard]] Expression::Names names_of(const Configuration* configuration, const Problem* problem,
                                         const DeviceIdentity* device);

}  // namespace heddle
