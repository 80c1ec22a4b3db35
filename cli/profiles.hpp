// What the subcommands of `heddle profiles` share.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "heddle/cli/command.hpp"
#include "heddle/cli/options.hpp"
#include "heddle/profiles/measurement.hpp"

namespace heddle::cli {

struct ProfileOptions {
  Common common;
  std::string profiles;  ///< the database
  std::string device, family;
  std::string file;
  Sizes sizes;
  bool all = false;
};

/// Options are kept alive by the action.
using ProfileAction = std::function<int(const ProfileOptions&)>;
/// Declares `heddle profiles NAME` with what every subcommand takes.
CLI::App& add_subcommand(CLI::App& profiles, Action& chosen, const std::string& name, const std::string& meaning,
                         const std::shared_ptr<ProfileOptions>& options, ProfileAction run);
void add_family(CLI::App& command, ProfileOptions& options);

/// profiles_look.cpp: list, show, explain
void add_look(CLI::App& profiles, Action& chosen);
/// profiles_carry.cpp: export, import, verify, prune
void add_carry(CLI::App& profiles, Action& chosen);

/// The family called so, or none: a database may know families that this program does not.
[[nodiscard]] const KernelFamily* find_family(const std::string& name);
/// Made from another kernel source than the one built in, or of a family that is not built in.
[[nodiscard]] bool is_stale(const Profile& profile);
/// "current", "stale", "imported", "imported, stale"
[[nodiscard]] std::string state(const Profile& profile);

}  // namespace heddle::cli
