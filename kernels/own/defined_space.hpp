// The search space of a defined kernel.
#pragma once

#include "heddle/kernels/own/parsed_definition.hpp"
#include "heddle/kernels/search_space.hpp"

namespace heddle {

/// The name of the constraint that every definition for CUDA has beside its own: that the launch geometry of a
/// configuration has values, and ones that CUDA can launch.
inline constexpr const char* kLaunchLimits = "launch limits of CUDA";

/// The definition has to outlive it.
[[nodiscard]] SearchSpace space_of(const ParsedDefinition& kernel, const DeviceIdentity& device);
[[nodiscard]] Configuration default_configuration_of(const ParsedDefinition& kernel, const DeviceIdentity& device);

}  // namespace heddle
