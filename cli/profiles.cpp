// heddle profiles: looks into the profile database and carries it between machines.

#include "heddle/cli/profiles.hpp"

#include <CLI/CLI.hpp>
#include <utility>

namespace heddle::cli {

CLI::App& add_subcommand(CLI::App& profiles, Action& chosen, const std::string& name, const std::string& meaning,
                         const std::shared_ptr<ProfileOptions>& options, ProfileAction run) {
  auto* const command = profiles.add_subcommand(name, meaning);
  add_profile_file(*command, options->profiles);
  add_common(*command, options->common);
  command->callback([options, &chosen, run = std::move(run)] { chosen = [options, run] { return run(*options); }; });
  return *command;
}

void add_family(CLI::App& command, ProfileOptions& options) {
  command.add_option("--family", options.family, "Only this kernel family")
      ->type_name("F")
      ->each([](const std::string& name) { (void)family(name); });
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

void add_profiles(CLI::App& program, Action& chosen) {
  auto* const command = program.add_subcommand("profiles", "Look into the profile database, carry it between machines");
  add_look(*command, chosen);
  add_carry(*command, chosen);
}

}  // namespace heddle::cli
