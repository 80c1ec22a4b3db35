#include "heddle/tuner/agenda.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "heddle/kernels/error.hpp"
#include "heddle/tuner/statistics.hpp"

namespace heddle {

namespace {

// A profile whose lead over the untuned default has shrunk by this factor is searched again.
constexpr double kLostLead = 1.25;

/// Nothing if a changed space no longer has it.
std::optional<Configuration> read(const SearchSpace& space, const std::string& text) {
  try {
    return space.parse(text);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

KnownProfiles::KnownProfiles(std::vector<Profile> profiles, std::vector<Profile> displaced, const Evaluator& evaluator)
    : family_(evaluator.family()), space_(family_.space(evaluator.device())) {
  const auto ours = [&](const Profile& profile) {
    return profile.key.family == family_.name() && profile.key.device == evaluator.device();
  };
  for (Profile& profile : profiles) {
    const bool alike = profile.key.family == family_.name() &&
                       profile.key.device.backend == evaluator.device().backend &&
                       profile.key.device.architecture == evaluator.device().architecture;
    if (ours(profile)) {
      add(std::move(profile));
    } else if (alike) {
      hint_profiles_.push_back(std::move(profile));
    }
  }
  for (Profile& profile : displaced) {
    if (ours(profile)) hint_profiles_.push_back(std::move(profile));
  }
}

void KnownProfiles::add(Profile profile) {
  std::erase_if(profiles_, [&](const Profile& old) { return old.key == profile.key; });
  profiles_.push_back(std::move(profile));
}

const Profile* KnownProfiles::find(const Problem& problem) const {
  const auto found =
      std::find_if(profiles_.begin(), profiles_.end(), [&](const Profile& p) { return p.key.problem == problem; });
  return found == profiles_.end() ? nullptr : &*found;
}

bool KnownProfiles::know_clocks() const {
  return std::any_of(profiles_.begin(), profiles_.end(), [](const Profile& p) { return !p.provenance.clocks.empty(); });
}

std::vector<Visit> KnownProfiles::agenda(const std::vector<Problem>& problems, const Environment& now) const {
  std::vector<Visit> visits;
  for (const Profile& profile : profiles_) {
    std::string change = change_since(profile, now);
    if (change.empty()) continue;
    visits.push_back(
        {.problem = profile.key.problem, .search = false, .profile = profile, .change = std::move(change)});
  }
  const auto listed = [&](const Problem& problem) {
    return std::any_of(visits.begin(), visits.end(), [&](const Visit& visit) { return visit.problem == problem; });
  };
  for (const bool known : {false, true}) {
    for (const Problem& problem : problems) {
      const Profile* const profile = find(problem);
      if ((profile != nullptr) != known || listed(problem)) continue;
      visits.push_back({.problem = problem,
                        .search = true,
                        .profile = known ? std::optional(*profile) : std::nullopt,
                        .change = {}});
    }
  }
  return visits;
}

std::vector<std::pair<Configuration, double>> KnownProfiles::parse(const std::map<std::string, double>& costs) const {
  std::vector<std::pair<Configuration, double>> parsed;
  for (const auto& [text, cost] : costs) {
    if (auto configuration = read(space_, text)) parsed.emplace_back(std::move(*configuration), cost);
  }
  return parsed;
}

std::vector<Configuration> KnownProfiles::hints(const Problem& problem, std::size_t count) const {
  std::vector<const Profile*> nearest;
  for (const Profile& profile : profiles_) nearest.push_back(&profile);
  for (const Profile& profile : hint_profiles_) nearest.push_back(&profile);
  std::stable_sort(nearest.begin(), nearest.end(), [&](const Profile* a, const Profile* b) {
    return distance(a->key.problem, problem, family_.axes()) < distance(b->key.problem, problem, family_.axes());
  });
  std::vector<Configuration> found;
  for (const Profile* profile : nearest) {
    if (found.size() == count) break;
    const auto configuration = read(space_, profile->configuration);
    if (!configuration || space_.violated(*configuration, problem)) continue;
    if (std::find(found.begin(), found.end(), *configuration) == found.end()) {
      found.push_back(*configuration);
    }
  }
  return found;
}

std::vector<Configuration> contenders(const ProfileStore& store, const Evaluator& evaluator, const Profile& profile,
                                      const TuningRun& run, std::size_t count) {
  const SearchSpace space = evaluator.family().space(evaluator.device());
  std::vector<Configuration> found;
  const auto add = [&](const std::string& text) {
    const auto configuration = read(space, text);
    if (!configuration || space.violated(*configuration, profile.key.problem)) return;
    if (std::find(found.begin(), found.end(), *configuration) == found.end()) found.push_back(*configuration);
  };
  add(profile.configuration);
  for (const std::string& tie : profile.ties) add(tie);
  std::map<std::string, double> fastest;
  for (const Measurement& past : store.measurements(profile.key)) {  // newest first
    if (past.run == run.id || past.times.empty()) continue;
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
                                const TuningRun& run) {
  for (const Measurement& past : store.measurements(key)) {  // newest first
    if (past.run != run.id && past.configuration == configuration && !past.times.empty()) return median(past.times);
  }
  return std::nullopt;
}

bool ranking_moved(const Profile& before, const std::optional<double>& baseline_before, const TuningResult& now) {
  if (!now.profile) return false;
  if (now.profile->configuration != before.configuration &&
      std::find(before.ties.begin(), before.ties.end(), now.profile->configuration) == before.ties.end()) {
    return true;
  }
  if (!baseline_before || !now.baseline.time) return false;
  const double slowdown = now.profile->time / before.time;
  return slowdown > kLostLead * *now.baseline.time / *baseline_before;
}

bool keep_winner(ProfileStore& store, const Visit& visit, const Profile& winner, bool stored_was_remeasured) {
  const std::optional<Profile> present = store.find(winner.key);
  const bool ours = present && present->run != 0 && present->run == winner.run;
  const bool unchanged =
      ours ||
      (present.has_value() == visit.profile.has_value() &&
       (!present || (present->configuration == visit.profile->configuration && present->time == visit.profile->time &&
                     present->source_hash == visit.profile->source_hash)));
  if (!unchanged || (!ours && !stored_was_remeasured)) return store.keep_if_better(winner);
  store.keep(winner);
  return true;
}

}  // namespace heddle
