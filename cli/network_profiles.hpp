// The profiles that `heddle train` and `heddle predict` choose from.
#pragma once

#include <string>

#include "heddle/cli/command.hpp"
#include "heddle/cli/options.hpp"
#include "heddle/profiles/goal.hpp"
#include "heddle/profiles/knowledge.hpp"
#include "heddle/runtime/device/device.hpp"
#include "heddle/runtime/train/trainer.hpp"

namespace heddle::cli {

struct NetworkProfiles {
  std::string file;  ///< of --profiles
  Goal goal;         ///< of --objective
};

/// --profiles and --objective.
void add_network_profiles(Command& command, NetworkProfiles& profiles);

/// What the database knows of the goal, with a notice if it has no profile of the trainer's kernels for an objective
/// that was asked for. Throws Error(usage) for an objective that is no expression, or that none of these kernels can
/// have on the device.
[[nodiscard]] Knowledge knowledge_for(const Context& context, const NetworkProfiles& profiles, const Trainer& trainer,
                                      const Device& device, const Common& common, const Notice& notice);

}  // namespace heddle::cli
