// The routines of runtime/device/routine.hpp on the CPU, through LAPACK.
#pragma once

#include <string_view>

namespace heddle {

/// `arguments[i]`: where the i-th argument lies, as a kernel gets it.
using CpuRoutine = void (*)(void* const* arguments);

/// Throws DeviceFailure(launch) if there is none of that name.
[[nodiscard]] CpuRoutine cpu_routine(std::string_view name);

}  // namespace heddle
