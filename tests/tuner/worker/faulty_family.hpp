// A family most of whose kernels are broken, each in a way of its own.
#pragma once

#include "heddle/kernels/kernel_family.hpp"

namespace heddle::test {

/// Space: kind (good, null, spin, memory, leave, outside, even) x work 1, 2, 4; faults have work 1 alone and would be
/// the fastest. Adds one to `size` values for every sample.
[[nodiscard]] const KernelFamily& faulty_family();

}  // namespace heddle::test
