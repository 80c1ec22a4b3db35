// Problems as the programs here take them on their command lines.
#pragma once

#include <string>
#include <vector>

#include "heddle/kernels/kernel_family.hpp"

namespace heddle::bench {

/// "640x16x1": sizes in the order of the family's axes, "-" for one that the problem does not have. Throws
/// Error(usage).
[[nodiscard]] Problem problem_of(const KernelFamily& family, const std::string& text);
/// All of them before anything is measured.
[[nodiscard]] std::vector<Problem> problems_of(const KernelFamily& family, const std::vector<std::string>& texts);

}  // namespace heddle::bench
