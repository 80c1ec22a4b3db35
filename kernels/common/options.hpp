// The compile options that the templates of this folder's siblings share.
#pragma once

#include "heddle/kernels/compile_options.hpp"

namespace heddle {

/// CUDA kernels of networks: nothing as small as a denormal counts there, and honouring it costs every division and
/// exponential a few instructions.
[[nodiscard]] inline CompileOptions cuda_network_options() { return {.flush_denormals = true}; }

/// What kernels/CMakeLists.txt compiles the CPU kernels in the binary with, those of cpu_registry.cpp and those of
/// cpu_exact_registry.cpp. A CPU template with other options is compiled at run time.
[[nodiscard]] inline CompileOptions cpu_builtin_options() { return {.standard = LanguageLevel::cpp20}; }
[[nodiscard]] inline CompileOptions cpu_exact_options() {
  return {.contraction = false, .standard = LanguageLevel::cpp20};
}

}  // namespace heddle
