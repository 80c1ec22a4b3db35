// A family most of whose kernels are broken, each in a way of its own.
#pragma once

#include <memory>
#include <string>

#include "heddle/kernels/family_registry.hpp"

namespace heddle::test {

/// Space: kind (good, null, spin, memory, leave, outside, even) x work 1, 2, 4; faults have work 1 alone and would be
/// the fastest. Adds one to `size` values for every sample.
///
/// The maker of families called as the text says. Throws Error(input) for a text that holds no name.
[[nodiscard]] std::shared_ptr<const KernelFamily> make_faulty_family(const std::string& text);

/// Beside the built-in families the maker "faulty" and what it makes: the family "faulty".
[[nodiscard]] FamilyRegistry families_with_faulty();

}  // namespace heddle::test
