// The verification of the Takagi-Sugeno-Kang families.
#pragma once

#include <cstdint>
#include <memory>

#include "heddle/kernels/kernel_family.hpp"

namespace heddle::tsk {

/// Every option set: three iterations in plans of two, so that the second launch ends in between and the third finds
/// nothing to do. `order`: of the consequents.
[[nodiscard]] std::unique_ptr<Verification> verification(const KernelFamily& family, int order,
                                                         const DeviceIdentity& device, std::uint64_t seed);

}  // namespace heddle::tsk
