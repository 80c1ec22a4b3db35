#include "heddle/tuner/remeasured_profiles.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "heddle/tuner/statistics.hpp"

namespace heddle {

namespace {

// A profile whose lead over the untuned default has shrunk by this factor is searched again.
constexpr double kLostLead = 1.25;

}  // namespace

std::vector<Configuration> contenders(const ProfileStore& store, const Evaluator& evaluator, const Profile& profile,
                                      const TuningRun& run, std::size_t count, bool cold_cache) {
  const SearchSpace space = evaluator.family().space(evaluator.device());
  std::vector<Configuration> found;
  const auto add = [&](const std::string& text) {
    const auto configuration = parse_if_present(space, text);
    if (!configuration || space.violated(*configuration, profile.key.problem)) return;
    if (std::find(found.begin(), found.end(), *configuration) == found.end()) found.push_back(*configuration);
  };
  add(profile.configuration);
  for (const std::string& tie : profile.ties) add(tie);
  std::map<std::string, double> fastest;
  for (const Measurement& past : store.measurements(profile.key)) {  // newest first
    if (past.run == run.id || past.times.empty() || past.cold_cache != cold_cache) continue;
    fastest.try_emplace(past.configuration, median(past.times));
  }
  std::vector<std::pair<double, std::string>> order;
  order.reserve(fastest.size());
  for (const auto& [configuration, time] : fastest) order.emplace_back(time, configuration);
  std::sort(order.begin(), order.end());
  const std::size_t most = found.size() + count;
  for (auto next = order.begin(); next != order.end() && found.size() < most; ++next) add(next->second);
  return found;
}

std::optional<double> last_time(const ProfileStore& store, const ProfileKey& key, const std::string& configuration,
                                const TuningRun& run, bool cold_cache) {
  for (const Measurement& past : store.measurements(key)) {  // newest first
    if (past.run == run.id || past.configuration != configuration || past.cold_cache != cold_cache) continue;
    if (!past.times.empty()) return median(past.times);
  }
  return std::nullopt;
}

bool ranking_moved(const Profile& before, const std::optional<double>& untuned_before, const TuningResult& now) {
  if (!now.profile) return false;
  if (now.profile->configuration != before.configuration &&
      std::find(before.ties.begin(), before.ties.end(), now.profile->configuration) == before.ties.end()) {
    return true;
  }
  if (!untuned_before || !now.untuned.time) return false;
  const double slowdown = now.profile->time / before.time;
  return slowdown > kLostLead * *now.untuned.time / *untuned_before;
}

bool keep_winner(ProfileStore& store, const PlannedVisit& planned, const Profile& winner, bool stored_was_remeasured) {
  const std::optional<Profile> present = store.find(winner.key);
  const bool ours = present && present->run != 0 && present->run == winner.run;
  const bool unchanged =
      ours || (present.has_value() == planned.profile.has_value() &&
               (!present || (present->configuration == planned.profile->configuration &&
                             present->time == planned.profile->time && present->kernels == planned.profile->kernels)));
  if (!unchanged || (!ours && !stored_was_remeasured)) return store.keep_if_better(winner);
  store.keep(winner);
  return true;
}

}  // namespace heddle
