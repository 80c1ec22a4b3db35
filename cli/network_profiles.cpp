#include "heddle/cli/network_profiles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/text.hpp"
#include "heddle/tuner/objective.hpp"

namespace heddle::cli {

namespace {

/// An objective may be about a parameter that only the kernel of the training has.
void check_objective(const Goal& goal, const Trainer& trainer, const DeviceIdentity& device) {
  const Objective objective(goal.objective);
  std::optional<Error> objection;
  for (const KernelFamily* const family : trainer.families()) {
    try {
      return objective.check(*family, device);
    } catch (const Error& error) {
      objection = error;
    }
  }
  if (objection) throw Error(*objection);
}

}  // namespace

void add_network_profiles(Command& command, NetworkProfiles& profiles) {
  add_profile_file(command, profiles.file);
  add_objective(command, profiles.goal);
}

Knowledge knowledge_for(const Context& context, const NetworkProfiles& profiles, const Trainer& trainer,
                        const Device& device, const Common& common, const Notice& notice) {
  if (!profiles.goal.is_time()) check_objective(profiles.goal, trainer, device.identity());
  const ProfileStore store = open_profiles(context, profiles.file, ProfileStore::Access::read, common);
  Knowledge known = store.knowledge({}, profiles.goal);
  const auto is_of_trainer = [&](const Profile& profile) {
    return std::ranges::any_of(trainer.families(),
                               [&](const KernelFamily* family) { return family->name() == profile.key.family; });
  };
  if (!profiles.goal.is_time() && std::ranges::none_of(known.profiles, is_of_trainer)) {
    notice(
        fmt::format("profile database {}: no profile of these kernels is for the objective {}; 'heddle tune "
                    "--objective' makes some",
                    store.file().string(), in_quotes(profiles.goal.objective)));
  }
  return known;
}

}  // namespace heddle::cli
