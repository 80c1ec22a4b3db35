// Whether a configuration computes what the reference computes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "heddle/kernels/kernel_family.hpp"
#include "heddle/runtime/device/device.hpp"
#include "heddle/tuner/evaluator.hpp"

namespace heddle {

/// Samples of one verification; at least 8, and no multiple of anything.
inline constexpr std::int64_t kVerificationSamples = 13;

/// Runs the family's verification trial once: outputs and scratch are filled with NaN patterns before, every guard is
/// looked at after, then the buffers are compared with the float64 reference. `binary`: the plan's kernels. A failure
/// of the device is a verdict, not an exception.
[[nodiscard]] Verdict verify(Device& device, const KernelFamily& family, const Configuration& configuration,
                             const Problem& problem, std::shared_ptr<const Binary> binary, std::uint64_t seed);
/// Compiles first; a refused compilation is a verdict.
[[nodiscard]] Verdict verify(Device& device, const KernelFamily& family, const Configuration& configuration,
                             const Problem& problem, std::uint64_t seed);

/// The problem whose sizes divide nothing on which to verify `configuration` beside `problem`: the family's awkward
/// one, or the problem with as many sizes made odd as can be, whichever needs no other kernels. If neither does:
/// nothing where some size is odd already (and not 1), since `problem` is awkward itself; else the family's, or the
/// problem with every size made odd, wherever the configuration is allowed. Nothing if it is not.
[[nodiscard]] std::optional<Problem> awkward_problem(const KernelFamily& family, const DeviceIdentity& device,
                                                     const Configuration& configuration, const Problem& problem);

}  // namespace heddle
