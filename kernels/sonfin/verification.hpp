// The verification of the SONFIN families.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "heddle/kernels/kernel_family.hpp"

namespace heddle::sonfin {

/// Host memory for workloads and the reference's results on them.
inline constexpr std::size_t kKeptBytes = std::size_t{256} << 20;
/// A host's most operations for the reference of a timed run: they take seconds.
inline constexpr double kMostHostOperations = 5e8;
/// A GPU's most operations: they take half a second, copies included.
inline constexpr double kMostDeviceOperations = 4.3e9;
/// A GPU's most operations as long as nothing is suspicious: they take some hundredths of a second.
inline constexpr double kUsualDeviceOperations = 1.4e8;

/// Every option set on every shape. The network grows by one rule within a plan and halts where there is no room for
/// the next one. The host moves it to a plan with room for that rule, and training goes on. If the configuration allows
/// no larger plan, it goes on in the same one, and the cap forbids the rule. A run has 44 samples, in plans of 21; both
/// legs end with a launch that has to leave everything as it is. The network at the end is compared with the reference.
[[nodiscard]] std::unique_ptr<Verification> train_verification(const KernelFamily& family, const DeviceIdentity& device,
                                                               std::uint64_t seed, RunOnDevice run);

/// Rows beyond two tiles of a configuration, with firing as in training, so deep that exp(l) is 0, and far from zero.
[[nodiscard]] std::unique_ptr<Verification> predict_verification(const KernelFamily& family,
                                                                 const DeviceIdentity& device, std::uint64_t seed,
                                                                 RunOnDevice run);

}  // namespace heddle::sonfin
