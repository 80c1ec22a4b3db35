// The text of a defined kernel, as its maker reads it.
#pragma once

#include <string>
#include <utility>

#include "heddle/kernels/own/kernel_definition.hpp"

namespace heddle {

/// JSON.
[[nodiscard]] std::string write_definition(const KernelDefinition& kernel, const KernelExamples& examples);
/// Throws Error(input).
[[nodiscard]] std::pair<KernelDefinition, KernelExamples> read_definition(const std::string& text);

}  // namespace heddle
