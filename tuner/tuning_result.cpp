#include "heddle/tuner/tuning_result.hpp"

namespace heddle {

std::int64_t TuningResult::evaluations() const {
  std::int64_t count = 0;
  for (const auto& [status, number] : statuses) count += number;
  return count;
}

bool TuningResult::improve(const TuningResult& later) {
  effort += later.effort;
  for (const auto& [status, count] : later.statuses) statuses[status] += count;
  recalled += later.recalled;
  if (!later.profile) return false;
  const bool changed = !profile || later.profile->configuration != profile->configuration;
  winner_changed = winner_changed || changed;
  profile = later.profile;
  was_stored = later.was_stored;
  untuned = later.untuned;
  named = later.named;
  samples = later.samples;
  resources = later.resources;
  energy = later.energy;
  objective = later.objective;
  metrics = later.metrics;
  return changed;
}

}  // namespace heddle
