// heddle profiles: looks into the profile database and carries it between machines.

#include "heddle/cli/profiles.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace heddle::cli {

Command add_subcommand(Command& profiles, const std::string& name, const std::string& meaning,
                       const std::shared_ptr<ProfileOptions>& options,
                       int (*run)(const Context&, const ProfileOptions&)) {
  Command command = profiles.add(name, meaning);
  add_profile_file(command, options->profiles);
  add_common(command, options->common);
  options->context = profiles.context();
  command.action([options, run] {
    check(options->described);
    return run(options->context, *options);
  });
  return command;
}

void add_families(Command& command, ProfileOptions& options) {
  add_described_families(command, options.described, options.context.families);
  command.option("--family", "F", "Only this kernel family",
                 [&options](const std::string& name) { options.family = options.context.families.at(name).name(); });
}

bool asks_for(const ProfileOptions& options, std::string_view family) {
  if (!options.family.empty()) return family == options.family;
  const auto& described = options.described.names;
  return described.empty() || std::ranges::find(described, family) != described.end();
}

void add_stored_family(Command& command, ProfileOptions& options) {
  command.option("--family", "F", "Only this kernel family, which may be one that only other programs know",
                 options.family);
}

void check_sizes(const Context& context, const ProfileOptions& options) {
  std::vector<const KernelFamily*> only;
  for (const auto& family : context.families.all()) {
    if (asks_for(options, family->name())) only.push_back(family.get());
  }
  if (!only.empty()) options.sizes.check_names(only);
}

void check_stored_family(const ProfileStore& store, const std::string& family) {
  if (!family.empty() && store.profiles(family).empty()) static_cast<void>(store.families().at(family));
}

void add_goal(Command& command, Goal& goal) {
  add_objective(command, goal);
  command.option("--l2", "STATE", "Of the profiles that 'heddle tune --l2 STATE' made: cold or warm [default: warm]",
                 [&goal](const std::string& text) { goal.cold_cache = read_cold_cache(text); });
}

std::string problem_and_goal(const ProfileKey& key) {
  return key.problem.text() + (key.goal.is_usual() ? "" : fmt::format(" ({})", key.goal.text()));
}

std::optional<Currency> ProfileStates::currency(const Profile& profile) {
  const KernelFamily* const family = families_.find(profile.key.family);
  if (family == nullptr) return std::nullopt;
  return present_.try_emplace(profile.key.family, *family).first->second.currency(profile);
}

bool ProfileStates::is_stale(const Profile& profile) {
  return currency(profile).value_or(Currency::current) != Currency::current;
}

std::string ProfileStates::state(const Profile& profile) {
  if (families_.find(profile.key.family) == nullptr) return "unknown";
  const bool stale = is_stale(profile);
  if (!profile.imported) return stale ? "stale" : "current";
  return stale ? "imported, stale" : "imported";
}

std::string ProfileStates::state_and_cause(const Profile& profile) {
  return is_stale(profile) ? fmt::format("{} ({})", state(profile), text(*currency(profile))) : state(profile);
}

void ProfileStates::describe(const Profile& profile, Json& record) {
  record["state"] = state(profile);
  record["stale"] = is_stale(profile) ? Json(text(*currency(profile))) : Json();
}

void add_profiles(Command& program) {
  Command command = program.add("profiles", "Show profiles, explain choices, carry profiles between machines");
  add_look(command);
  add_carry(command);
  add_regret(command);
}

}  // namespace heddle::cli
