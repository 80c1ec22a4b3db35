// The search space of a defined kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "heddle/kernels/own/parsed_definition.hpp"
#include "heddle/kernels/plan.hpp"
#include "heddle/kernels/search_space.hpp"

namespace heddle {

/// The name of the constraint that every definition for CUDA has beside its own: that the launch geometry of a
/// configuration has values, and ones that CUDA can launch.
inline constexpr const char* kLaunchLimits = "launch limits of CUDA";

/// A limit that a launch does not keep.
struct BeyondLimit {
  const char* what = "";
  std::int64_t found = 0, most = 0;
  [[nodiscard]] std::string text() const;  ///< "the threads of a block are 2048, at most 1024 can be launched"
};
[[nodiscard]] std::optional<BeyondLimit> beyond_limits(const Launch& launch, const DeviceIdentity& device);

/// The definition has to outlive it.
[[nodiscard]] SearchSpace space_of(const ParsedDefinition& kernel, const DeviceIdentity& device);
[[nodiscard]] Configuration default_configuration_of(const ParsedDefinition& kernel, const DeviceIdentity& device);

}  // namespace heddle
