// How a defined kernel was understood: how many points its space has, and what looks like a mistake.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "heddle/kernels/own/defined_family.hpp"
#include "heddle/kernels/search_space.hpp"

namespace heddle {

struct KernelReview {
  SearchSpace::Count points;        ///< before constraints
  SearchSpace::Count allowed;       ///< after them
  Configuration untuned;            ///< for the problem
  Plan plan;                        ///< of the untuned configuration
  std::vector<std::string> doubts;  ///< lines: what looks wrong
};

/// Throws Error(input) if the kernel cannot be tuned for `problem` on `device`: if its untuned configuration violates a
/// constraint or has no launch, if the buffers are larger than the device's memory, or if there is no reference for it
/// (DefinedFamily::check_reference()).
void check_kernel(const DefinedFamily& family, const DeviceIdentity& device, const Problem& problem);

/// Looks at a kernel for one problem. Takes less than a second, and seconds where constraints are dear. Throws what
/// check_kernel() throws.
[[nodiscard]] KernelReview review_kernel(const DefinedFamily& family, const DeviceIdentity& device,
                                         const Problem& problem);

}  // namespace heddle
