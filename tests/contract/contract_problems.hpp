// The problems that a device is tried with.
#pragma once

#include <string_view>
#include <vector>

#include "heddle/kernels/kernel_family.hpp"

namespace heddle::contract {

[[nodiscard]] bool has_axis(const KernelFamily& family, std::string_view name);

/// The family's awkward problem and its default ones. Of the families that have rules instead of these: the awkward one
/// in sizes from one task to more inputs than a block has threads, or to a few warps.
[[nodiscard]] std::vector<Problem> problems(const KernelFamily& family, const DeviceIdentity& device, bool large);

/// Of a family of fuzzy arrays: small problems by the form of its arrays, which is type, layout and, of a product, the
/// kind of matrix. Templates differ from form to form; sizes only decide how often they do the same.
[[nodiscard]] std::vector<std::vector<Problem>> problems_by_form(const KernelFamily& family);

}  // namespace heddle::contract
