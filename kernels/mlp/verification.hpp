// Verification of the families of perceptrons: docs/design.md, "Perceptrons".
#pragma once

#include <memory>

#include "heddle/kernels/kernel_family.hpp"
#include "heddle/kernels/mlp/mapping.hpp"

namespace heddle::mlp {

/// `mapping`: of the device's backend. Both must outlive the result.
[[nodiscard]] std::unique_ptr<Verification> train_verification(const Mapping& mapping, const DeviceIdentity& device,
                                                               std::uint64_t seed);
[[nodiscard]] std::unique_ptr<Verification> predict_verification(const Mapping& mapping, const DeviceIdentity& device,
                                                                 std::uint64_t seed);

}  // namespace heddle::mlp
