// The profiles of the database that a tuning run starts from, and the visits that it plans.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "heddle/profiles/profile_store.hpp"
#include "heddle/tuner/environment.hpp"
#include "heddle/tuner/evaluator.hpp"

namespace heddle {

/// A visit of one problem that is still to be carried out.
struct PlannedVisit {
  Problem problem;
  bool search = true;              ///< false: a few measurements, no search
  std::optional<Profile> profile;  ///< the stored profile when the visit begins
  std::string change;              ///< why the profile has to be measured again, in one line; mostly empty
};

/// The profiles of one family and device during a run.
class KnownProfiles {
 public:
  /// `profiles`: all profiles as they were when the run began. Profiles of other devices of the same architecture, and
  /// those of other goals than that of the run, are used only as hints: configurations to try first. `displaced`: local
  /// profiles that an import displaced, also used only as hints. Profiles whose problems do not fit the family's axes
  /// are left out.
  KnownProfiles(std::vector<Profile> profiles, std::vector<Profile> displaced, const Evaluator& evaluator,
                const Goal& goal = {});

  [[nodiscard]] const std::vector<Profile>& profiles() const noexcept { return profiles_; }
  /// The profile of this device for `problem`; nothing if there is none.
  [[nodiscard]] const Profile* find(const Problem& problem) const;
  /// Adds a profile; it replaces the one with the same key.
  void add(Profile profile);
  /// The visits of a run: first the profiles that were made in another environment, which are measured again; then the
  /// problems without a profile; then the other problems. Within each group in the given order.
  [[nodiscard]] std::vector<PlannedVisit> agenda(const std::vector<Problem>& problems, const Environment& now) const;
  /// Whether any profile records the clocks at which it was measured.
  [[nodiscard]] bool know_clocks() const;
  /// Turns canonical texts into configurations. Texts that the present space no longer has are left out.
  [[nodiscard]] std::vector<std::pair<Configuration, double>> parse(const std::map<std::string, double>& costs) const;
  /// At most `count` configurations that `problem` allows: those of the profiles of this problem and of the nearest
  /// problems, nearest first; at equal distance those of this device first. None from an infinite distance.
  [[nodiscard]] std::vector<Configuration> hints(const Problem& problem, std::size_t count) const;

 private:
  const KernelFamily& family_;
  SearchSpace space_;
  std::vector<Profile> profiles_, hint_profiles_;
};

/// The configuration that a canonical text names; nothing if the present space no longer has it.
[[nodiscard]] std::optional<Configuration> parse_if_present(const SearchSpace& space, const std::string& text);

}  // namespace heddle
