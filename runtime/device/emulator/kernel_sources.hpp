// Headers that templates are compiled with on the emulator.
#pragma once

#include <vector>

#include "heddle/kernels/template_source.hpp"

namespace heddle {

/// The files of kernel/, as they were embedded at build time.
[[nodiscard]] const std::vector<SourceFile>& emulator_files();
/// The same, those that replace a file of kernels/common/ under its name.
[[nodiscard]] std::vector<SourceFile> emulator_sources();

}  // namespace heddle
