// Measures and verifies one profile again, without a search: `heddle profiles verify`.
#pragma once

#include "heddle/profiles/profile_store.hpp"
#include "heddle/tuner/evaluator.hpp"

namespace heddle {

struct Remeasured {
  Verdict verdict;
  double before = 0.0;             ///< time of the profile as it was, microseconds per sample
  std::optional<Profile> profile;  ///< as it is now; nothing if it failed
  bool removed = false;            ///< it computes wrong results, so the profile was removed
  bool restored = false;           ///< the local profile that an import had displaced is better and was restored
};

/// Times and verifies the configuration of `profile` on the evaluator's device, records the measurement, and keeps the
/// profile with its new figures, no longer stale nor imported. A profile that computes wrong results is removed; one
/// that could not be compiled or launched stays as it was, unless it had displaced a local one. The evaluator times
/// with the cache of the profile's goal. Throws Error(usage) if the profile is of another device or family, or if its
/// objective has no value any more.
[[nodiscard]] Remeasured remeasure(Evaluator& evaluator, ProfileStore& store, const Profile& profile);

}  // namespace heddle
