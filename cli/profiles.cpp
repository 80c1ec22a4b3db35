// heddle profiles: looks into the profile database and carries it between machines.

#include "heddle/cli/profiles.hpp"

namespace heddle::cli {

Command add_subcommand(Command& profiles, const std::string& name, const std::string& meaning,
                       const std::shared_ptr<ProfileOptions>& options, int (*run)(const ProfileOptions&)) {
  Command command = profiles.add(name, meaning);
  add_profile_file(command, options->profiles);
  add_common(command, options->common);
  command.action([options, run] { return run(*options); });
  return command;
}

void add_family(Command& command, ProfileOptions& options) {
  command.option("--family", "F", "Only this kernel family",
                 [&options](const std::string& name) { options.family = family(name).name(); });
}

void check_sizes(const ProfileOptions& options) {
  if (const KernelFamily* const only = find_family(options.family)) options.sizes.check_names({only});
}

const KernelFamily* find_family(const std::string& name) {
  for (const KernelFamily* each : families()) {
    if (each->name() == name) return each;
  }
  return nullptr;
}

bool is_stale(const Profile& profile) {
  const KernelFamily* const family = find_family(profile.key.family);
  const std::string& backend = profile.key.device.backend;
  return family == nullptr || !family->supports(backend) || family->source(backend).hash() != profile.source_hash;
}

std::string state(const Profile& profile) {
  if (!profile.imported) return is_stale(profile) ? "stale" : "current";
  return is_stale(profile) ? "imported, stale" : "imported";
}

void add_profiles(Command& program) {
  Command command = program.add("profiles", "Show profiles, explain choices, carry profiles between machines");
  add_look(command);
  add_carry(command);
  add_regret(command);
}

}  // namespace heddle::cli
