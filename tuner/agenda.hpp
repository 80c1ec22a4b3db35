// What a run starts from: the problems to visit, and the profiles of the database.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "heddle/profiles/profile_store.hpp"
#include "heddle/tuner/environment.hpp"
#include "heddle/tuner/evaluator.hpp"
#include "heddle/tuner/tuning_result.hpp"

namespace heddle {

/// One problem to be visited.
struct Visit {
  Problem problem;
  bool search = true;              ///< false: a few measurements, no search
  std::optional<Profile> profile;  ///< the stored profile when the visit begins
  std::string change;              ///< why the profile has to be measured again, in one line; mostly empty
};

/// The profiles of one family and device during a run.
class KnownProfiles {
 public:
  /// `profiles`: all profiles as they were when the run began. Profiles of other devices of the same architecture are
  /// used only as hints: configurations to try first. `displaced`: local profiles that an import displaced, also used
  /// only as hints.
  KnownProfiles(std::vector<Profile> profiles, std::vector<Profile> displaced, const Evaluator& evaluator);

  [[nodiscard]] const std::vector<Profile>& profiles() const noexcept { return profiles_; }
  /// The profile of this device for `problem`; nothing if there is none.
  [[nodiscard]] const Profile* find(const Problem& problem) const;
  /// Adds a profile; it replaces the one with the same key.
  void add(Profile profile);
  /// The visits of a run: first the profiles that were made in another environment, which are measured again; then the
  /// problems without a profile; then the other problems. Within each group in the given order.
  [[nodiscard]] std::vector<Visit> agenda(const std::vector<Problem>& problems, const Environment& now) const;
  /// Whether any profile records the clocks at which it was measured.
  [[nodiscard]] bool know_clocks() const;
  /// Turns canonical texts into configurations. Texts that the present space no longer has are left out.
  [[nodiscard]] std::vector<std::pair<Configuration, double>> parse(const std::map<std::string, double>& costs) const;
  /// At most `count` configurations that `problem` allows: those of the profiles of this problem and of the nearest
  /// problems, nearest first; at equal distance those of this device first.
  [[nodiscard]] std::vector<Configuration> hints(const Problem& problem, std::size_t count) const;

 private:
  const KernelFamily& family_;
  SearchSpace space_;
  std::vector<Profile> profiles_, hint_profiles_;
};

/// The configurations that may compete with `profile` when it is measured again: its own, its ties, and at most `count`
/// of the fastest others that runs other than `run` measured. Only configurations that the problem allows.
[[nodiscard]] std::vector<Configuration> contenders(const ProfileStore& store, const Evaluator& evaluator,
                                                    const Profile& profile, const TuningRun& run, std::size_t count);
/// Median time of the last measurement of `configuration` by runs other than `run`.
[[nodiscard]] std::optional<double> last_time(const ProfileStore& store, const ProfileKey& key,
                                              const std::string& configuration, const TuningRun& run);
/// Whether the ranking of configurations may have changed since `before` was measured. True if a configuration other
/// than the profile and its ties won now, or if the profile lost much of its lead over the untuned default, whose time
/// was `baseline_before`.
[[nodiscard]] bool ranking_moved(const Profile& before, const std::optional<double>& baseline_before,
                                 const TuningResult& now);

/// Makes `winner` the profile of its key. If another run changed the stored profile since `visit` began, or if this run
/// did not measure the stored profile again (`stored_was_remeasured` is false), `winner` replaces it only if it is
/// faster. Otherwise it replaces it in any case. Returns whether `winner` was kept.
bool keep_winner(ProfileStore& store, const Visit& visit, const Profile& winner, bool stored_was_remeasured);

}  // namespace heddle
