// What a run starts from: the problems to visit, and what the database knows about them.
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
  std::optional<Profile> profile;  ///< what the store has at the beginning
  std::string change;              ///< why the profile has to be measured again, in one line; mostly empty
};

/// The profiles of one family and device while a run goes on.
class KnownProfiles {
 public:
  /// `profiles`: as they were when the run began; those of other devices of the same architecture are hints alone.
  /// `displaced`: hints alone.
  KnownProfiles(std::vector<Profile> profiles, std::vector<Profile> displaced, const Evaluator& evaluator);

  [[nodiscard]] const std::vector<Profile>& profiles() const noexcept { return profiles_; }
  /// Nothing if there is none of this device.
  [[nodiscard]] const Profile* find(const Problem& problem) const;
  /// Takes the place of the one with the same key.
  void add(Profile profile);
  /// Profiles that were made in another environment, to be verified again, then problems without a profile, then the
  /// rest; each as they were given.
  [[nodiscard]] std::vector<Visit> agenda(const std::vector<Problem>& problems, const Environment& now) const;
  /// Whether any of them says at which clocks it was measured.
  [[nodiscard]] bool know_clocks() const;
  /// Costs by canonical text with the configurations themselves; those that left the space are left out.
  [[nodiscard]] std::vector<std::pair<Configuration, double>> parse(const std::map<std::string, double>& costs) const;
  /// The configurations of the profile of `problem` and of those nearest to it that it allows, nearest first, at most
  /// `count`; of equally near ones those of this device first.
  [[nodiscard]] std::vector<Configuration> hints(const Problem& problem, std::size_t count) const;

 private:
  const KernelFamily& family_;
  SearchSpace space_;
  std::vector<Profile> profiles_, displaced_;
};

/// Configurations that `profile`'s problem allows and that were about as fast as the profile, as far as the store
/// knows: the profile itself, its ties, and the fastest that runs other than `run` measured, at most `count` of these.
[[nodiscard]] std::vector<Configuration> contenders(const ProfileStore& store, const Evaluator& evaluator,
                                                    const Profile& profile, const TuningRun& run, std::size_t count);
/// Median time of the last measurement of `configuration` by runs other than `run`.
[[nodiscard]] std::optional<double> last_time(const ProfileStore& store, const ProfileKey& key,
                                              const std::string& configuration, const TuningRun& run);
/// Whether others than the profile and its ties won when it was measured again, or it lost much of its lead over the
/// untuned default, which took `baseline_before`: then the order of those that were not measured may have changed too.
[[nodiscard]] bool ranking_moved(const Profile& before, const std::optional<double>& baseline_before,
                                 const TuningResult& now);

/// Makes `winner` the profile of its key. What another run stored since `visit` began, and what was there before if
/// this run has not `met` it for want of time, is replaced by a better one only; else it was measured again and has
/// lost, or won anew. Returns whether it was kept.
bool keep_winner(ProfileStore& store, const Visit& visit, const Profile& winner, bool met);

}  // namespace heddle
