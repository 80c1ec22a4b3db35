// The verification of the SONFIN families.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "heddle/kernels/kernel_family.hpp"

namespace heddle::sonfin {

/// Of workloads and of what the reference makes of them, in host memory.
inline constexpr std::size_t kKeptBytes = std::size_t{256} << 20;
/// What a host may take for the reference of a timed run: seconds.
inline constexpr double kMostHostOperations = 5e8;
/// Likewise for a GPU: some hundredths of a second, copies included.
inline constexpr double kMostDeviceOperations = 2.7e8;

/// Every option set on every shape: a network that grows by one rule within a plan, halts where there is no room for
/// the next, is read and moved to a plan with room for it (to the same plan, where the configuration allows no larger
/// one, and the cap forbids the rule), and goes on. 44 samples in plans of 21; both legs end with a launch that has to
/// leave everything as it is. What it ends with is compared with the reference.
[[nodiscard]] std::unique_ptr<Verification> train_verification(const KernelFamily& family, const DeviceIdentity& device,
                                                               std::uint64_t seed, RunOnDevice run);

/// Rows beyond two tiles of a configuration, with firing as in training, so deep that exp(l) is 0, and far from zero.
[[nodiscard]] std::unique_ptr<Verification> predict_verification(const KernelFamily& family,
                                                                 const DeviceIdentity& device, std::uint64_t seed,
                                                                 RunOnDevice run);

}  // namespace heddle::sonfin
