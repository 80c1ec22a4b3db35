#include "heddle/tuner/replay/record.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "heddle/tuner/known_profiles.hpp"
#include "heddle/tuner/statistics.hpp"

namespace heddle {

RecordedSpace recorded(const ProfileStore& store, const KernelFamily& family, const ProfileKey& key, bool cold_cache) {
  const KernelVersion present = kernel_version(family, key.device);
  std::unordered_map<std::string, RecordedOutcome> outcomes;
  for (const Measurement& measurement : store.measurements(key)) {  // newest first
    if (!comparable(measurement.kernels, present) || measurement.cold_cache != cold_cache) continue;
    if (measurement.status == Status::pruned || measurement.status == Status::constraint) continue;
    const bool timed = !measurement.times.empty();
    const auto [place, newest] = outcomes.try_emplace(measurement.configuration);
    RecordedOutcome& outcome = place->second;
    // The last word counts: what was timed and then found wrong has failed. The compiler ran for the first measurement.
    outcome.compile_seconds = std::max(outcome.compile_seconds, measurement.compile_seconds);
    if (newest) {
      outcome.status = measurement.status;
      outcome.message = measurement.message;
    }
    if (timed && (newest || (outcome.time && measurement.times.size() > outcome.times.size()))) {
      outcome.time = median(measurement.times);
      outcome.times = measurement.times;
    }
  }

  const SearchSpace space = family.space(key.device);
  RecordedSpace recording;
  recording.name = std::string(family.name());
  recording.device = key.device.text();
  recording.kernel = std::string(family.name());
  recording.problem = key.problem.text();
  recording.verified_against = std::string(family.verified_against());
  for (const Parameter& parameter : space.parameters()) recording.parameters.push_back(parameter.name);
  struct Measured {
    std::vector<SearchSpace::Level> levels;
    Configuration configuration;
    const RecordedOutcome* outcome;
  };
  std::vector<Measured> all;
  for (const auto& [text, outcome] : outcomes) {
    auto configuration = parse_if_present(space, text);
    if (!configuration || space.violated(*configuration, key.problem)) continue;
    std::vector<SearchSpace::Level> levels = space.levels(*configuration);
    all.push_back({.levels = std::move(levels), .configuration = std::move(*configuration), .outcome = &outcome});
  }
  std::ranges::sort(all, {}, &Measured::levels);
  for (Measured& each : all) {
    recording.configurations.push_back(std::move(each.configuration));
    recording.outcomes.push_back(*each.outcome);
  }
  return recording;
}

}  // namespace heddle
