// What a run starts from: the problems to visit, and what the database knows about them.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "heddle/profiles/profile_store.hpp"
#include "heddle/tuner/evaluator.hpp"

namespace heddle {

/// One problem to be visited.
struct Visit {
  Problem problem;
  bool search = true;              ///< false: a few measurements, no search
  std::optional<Profile> profile;  ///< what the store has at the beginning
};

/// The profiles of one family and device while a run goes on.
class KnownProfiles {
 public:
  /// `profiles`: as they were when the run began. `displaced`: hints alone.
  KnownProfiles(std::vector<Profile> profiles, std::vector<Profile> displaced, const Evaluator& evaluator);

  /// Takes the place of the one with the same key.
  void add(Profile profile);
  /// Stale profiles, to be re-verified, then problems without a profile, then the rest; each as they were given.
  [[nodiscard]] std::vector<Visit> agenda(const std::vector<Problem>& problems) const;
  /// The configurations of the profile of `problem` and of those nearest to it that it allows, nearest first, at most
  /// `count`.
  [[nodiscard]] std::vector<Configuration> hints(const Problem& problem, std::size_t count) const;

 private:
  const KernelFamily& family_;
  SearchSpace space_;
  std::string source_hash_;
  std::vector<Profile> profiles_, displaced_;
};

/// Makes `winner` the profile of its key. What another run stored since `visit` began is replaced by a better one only;
/// what was there before, and what this run put there, took part in the finals and has lost, or won anew. Returns
/// whether it was kept.
bool keep_winner(ProfileStore& store, const Visit& visit, const Profile& winner);

}  // namespace heddle
