// The __constant__ variables that buffers of a plan are copied to.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "heddle/kernels/plan.hpp"
#include "heddle/runtime/device/device_failure.hpp"

namespace heddle {

/// The name that compilers give a variable called `name`, "filter" or "mylib::filter": its own in the global namespace,
/// else that of the Itanium C++ ABI, 5.1.2.
[[nodiscard]] std::string mangled_variable(std::string_view name);

/// Throws DeviceFailure(launch) if the variable that `buffer` is copied to, of so many bytes, is smaller. `device`: its
/// label.
void require_constant(const Buffer& buffer, std::int64_t variable_bytes, std::string_view device);
/// That there is no variable for `buffer`.
[[nodiscard]] DeviceFailure no_constant(const Buffer& buffer, std::string_view device);

}  // namespace heddle
