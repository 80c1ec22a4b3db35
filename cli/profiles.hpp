// Options and helpers that the subcommands of `heddle profiles` share.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "heddle/cli/command.hpp"
#include "heddle/cli/options.hpp"
#include "heddle/cli/problems.hpp"
#include "heddle/profiles/measurement.hpp"

namespace heddle::cli {

struct ProfileOptions {
  Common common;
  std::string profiles;  ///< the database
  std::string device, family;
  std::string file;
  Sizes sizes;
  bool all = false;
  std::optional<std::int64_t> count;
  std::optional<double> seconds;
  std::uint64_t seed = 1;
};

/// `heddle profiles NAME` with what every subcommand takes. `options` live until `run` has.
Command add_subcommand(Command& profiles, const std::string& name, const std::string& meaning,
                       const std::shared_ptr<ProfileOptions>& options, int (*run)(const ProfileOptions&));
void add_family(Command& command, ProfileOptions& options);

/// profiles_look.cpp: list, show, explain
void add_look(Command& profiles);
/// profiles_carry.cpp: export, import, verify, prune
void add_carry(Command& profiles);
/// profiles_regret.cpp: regret
void add_regret(Command& profiles);

/// Throws Error(usage) for sizes of another family than the one asked for.
void check_sizes(const ProfileOptions& options);

/// The family called so, or none: a database may know families that this program does not.
[[nodiscard]] const KernelFamily* find_family(const std::string& name);
/// Made from another kernel source than the one built in, or of a family that is not built in.
[[nodiscard]] bool is_stale(const Profile& profile);
/// "current", "stale", "imported", "imported, stale"
[[nodiscard]] std::string state(const Profile& profile);

}  // namespace heddle::cli
