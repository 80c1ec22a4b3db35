// From sizes on the command line to problems of a family.
#pragma once

#include <vector>

#include "heddle/cli/options.hpp"

namespace heddle::cli {

/// The family's default problems for the device; where sizes are named, every combination of these with the default
/// sizes of the other axes. Sizes of axes that the family does not have are left out.
[[nodiscard]] std::vector<Problem> problem_grid(const KernelFamily& family, const DeviceIdentity& device,
                                                const Sizes& sizes);
/// One problem; an axis that is not named has its smallest default size.
[[nodiscard]] Problem one_problem(const KernelFamily& family, const DeviceIdentity& device, const Sizes& sizes);
/// Whether `problem` has the sizes that are named.
[[nodiscard]] bool matches(const Problem& problem, const Sizes& sizes);

}  // namespace heddle::cli
