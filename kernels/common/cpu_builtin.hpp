// CPU kernels that were compiled into the binary, so that default configurations need no compiler.
#pragma once

#include <string_view>
#include <vector>

#include "heddle/kernels/common/cpu_launch.hpp"

namespace heddle::cpu {

/// The kernel that Plan::kernels calls `expression`, compiled for `architecture`; null if it was not built in. May be
/// called only on a CPU of that architecture.
[[nodiscard]] Kernel builtin_kernel(std::string_view expression, std::string_view architecture);

/// Whether that kernel was compiled with cpu_exact_options(); all others were with cpu_builtin_options().
[[nodiscard]] bool is_exact_kernel(std::string_view expression, std::string_view architecture);

/// The most capable instruction set of this CPU that kernels may be built for: "x86-64-v4", "x86-64-v3", "x86-64-v2",
/// "aarch64", or "generic".
[[nodiscard]] std::string_view best_architecture();

/// Those that this CPU has and kernels were built for, in rising order. The last one is best_architecture().
[[nodiscard]] std::vector<std::string_view> built_architectures();

}  // namespace heddle::cpu
