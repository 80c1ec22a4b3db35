// Decisions about profiles that a tuning run measures again: what to measure beside them, and whether to replace them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "heddle/profiles/profile_store.hpp"
#include "heddle/tuner/evaluator.hpp"
#include "heddle/tuner/known_profiles.hpp"
#include "heddle/tuner/tuning_result.hpp"

namespace heddle {

/// The configurations that may compete with `profile` when it is measured again: its own, its ties, and at most `count`
/// of the fastest others that runs other than `run` measured with such a cache. Only configurations that the problem
/// allows.
[[nodiscard]] std::vector<Configuration> contenders(const ProfileStore& store, const Evaluator& evaluator,
                                                    const Profile& profile, const TuningRun& run, std::size_t count,
                                                    bool cold_cache);
/// Median time of the last measurement of `configuration` by runs other than `run`, with such a cache.
[[nodiscard]] std::optional<double> last_time(const ProfileStore& store, const ProfileKey& key,
                                              const std::string& configuration, const TuningRun& run, bool cold_cache);
/// Whether the ranking of configurations may have changed since `before` was measured. True if a configuration other
/// than the profile and its ties won now, or if the profile lost much of its lead over the untuned default, whose time
/// was `untuned_before`.
[[nodiscard]] bool ranking_moved(const Profile& before, const std::optional<double>& untuned_before,
                                 const TuningResult& now);

/// Makes `winner` the profile of its key. Returns whether it did.
///
/// - A profile that this run stored itself is always replaced.
/// - If another run changed the stored profile since this run read it (`planned.profile`), or if this run did not
/// measure
///   the stored profile again (`stored_was_remeasured` is false), `winner` replaces it only if it is faster.
/// - Otherwise `winner` replaces it in any case.
bool keep_winner(ProfileStore& store, const PlannedVisit& planned, const Profile& winner, bool stored_was_remeasured);

}  // namespace heddle
