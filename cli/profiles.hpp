// Options and helpers that the subcommands of `heddle profiles` share.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "heddle/cli/command.hpp"
#include "heddle/cli/context.hpp"
#include "heddle/cli/described_families.hpp"
#include "heddle/cli/json.hpp"
#include "heddle/cli/options.hpp"
#include "heddle/cli/problems.hpp"
#include "heddle/profiles/measurement.hpp"
#include "heddle/profiles/present_kernels.hpp"

namespace heddle::cli {

struct ProfileOptions {
  Common common;
  std::string profiles;  ///< the database
  std::string device, family;
  std::string file;
  Sizes sizes;
  Context context;  ///< the program's families, and those described
  DescribedFamilies described;
  Goal goal;
  bool all = false;
  bool untuned = false;  ///< as if nothing had been tuned or imported
  std::optional<std::int64_t> count;
  std::optional<double> seconds;
  std::uint64_t seed = 1;
};

/// `heddle profiles NAME` with what every subcommand takes. `options` live until `run` has, which gets their context.
Command add_subcommand(Command& profiles, const std::string& name, const std::string& meaning,
                       const std::shared_ptr<ProfileOptions>& options,
                       int (*run)(const Context&, const ProfileOptions&));
/// --family, and the options that describe families. Options about sizes have to be declared behind these.
void add_families(Command& command, ProfileOptions& options);
/// Whether profiles of a family are asked for: of the one named, else of those described, else of all.
[[nodiscard]] bool asks_for(const ProfileOptions& options, std::string_view family);
/// --family takes any name: the database may have profiles of families that this program does not know.
void add_stored_family(Command& command, ProfileOptions& options);
/// Throws Error(usage) for a family that neither the program nor the database has.
void check_stored_family(const ProfileStore& store, const std::string& family);

/// --objective and --l2: the goal whose profiles are asked for.
void add_goal(Command& command, Goal& goal);
/// "size=64", with a goal that is not the usual one "size=64 (energy)".
[[nodiscard]] std::string problem_and_goal(const ProfileKey& key);

/// profiles_look.cpp: list, show, explain
void add_look(Command& profiles);
/// profiles_carry.cpp: export, import, verify, prune
void add_carry(Command& profiles);
/// profiles_regret.cpp: regret
void add_regret(Command& profiles);

/// Throws Error(usage) for sizes of another family than the one asked for.
void check_sizes(const Context& context, const ProfileOptions& options);

/// Says of profiles whether the program's kernels are those that they were made with.
class ProfileStates {
 public:
  explicit ProfileStates(const FamilyRegistry& families) : families_(families) {}

  /// Nothing for a profile of a family that is not known.
  [[nodiscard]] std::optional<Currency> currency(const Profile& profile);
  /// Never true of a family that is not known.
  [[nodiscard]] bool is_stale(const Profile& profile);
  /// "current", "stale", "imported", "imported, stale"; "unknown" if the family is: another program tuned it
  [[nodiscard]] std::string state(const Profile& profile);
  /// The same for people, with the digest that differs: "stale (templates)", "stale (contract)".
  [[nodiscard]] std::string state_and_cause(const Profile& profile);
  /// "state" and "stale", what is stale about it or null.
  void describe(const Profile& profile, Json& record);

 private:
  const FamilyRegistry& families_;
  std::map<std::string, PresentKernels> present_;
};

}  // namespace heddle::cli
