#include "heddle/tuner/agenda.hpp"

#include <algorithm>
#include <utility>

#include "heddle/kernels/error.hpp"
#include "heddle/tuner/tuning_result.hpp"

namespace heddle {

namespace {

/// Nothing if a changed space no longer has it.
std::optional<Configuration> parse(const SearchSpace& space, const std::string& text) {
  try {
    return space.parse(text);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

KnownProfiles::KnownProfiles(std::vector<Profile> profiles, std::vector<Profile> displaced, const Evaluator& evaluator)
    : family_(evaluator.family()),
      space_(family_.space(evaluator.device())),
      source_hash_(family_.source(evaluator.device().backend).hash()) {
  const auto ours = [&](const Profile& profile) {
    return profile.key.family == family_.name() && profile.key.device == evaluator.device();
  };
  for (Profile& profile : profiles) {
    if (ours(profile)) add(std::move(profile));
  }
  for (Profile& profile : displaced) {
    if (ours(profile)) displaced_.push_back(std::move(profile));
  }
}

void KnownProfiles::add(Profile profile) {
  std::erase_if(profiles_, [&](const Profile& old) { return old.key == profile.key; });
  profiles_.push_back(std::move(profile));
}

std::vector<Visit> KnownProfiles::agenda(const std::vector<Problem>& problems) const {
  std::vector<Visit> visits;
  for (const Profile& profile : profiles_) {
    if (profile.source_hash != source_hash_)
      visits.push_back({.problem = profile.key.problem, .search = false, .profile = profile});
  }
  const auto listed = [&](const Problem& problem) {
    return std::any_of(visits.begin(), visits.end(), [&](const Visit& visit) { return visit.problem == problem; });
  };
  for (const bool known : {false, true}) {
    for (const Problem& problem : problems) {
      const auto profile =
          std::find_if(profiles_.begin(), profiles_.end(), [&](const Profile& p) { return p.key.problem == problem; });
      if ((profile != profiles_.end()) != known || listed(problem)) continue;
      visits.push_back({.problem = problem, .search = true, .profile = known ? std::optional(*profile) : std::nullopt});
    }
  }
  return visits;
}

std::vector<Configuration> KnownProfiles::hints(const Problem& problem, std::size_t count) const {
  std::vector<const Profile*> nearest;
  for (const Profile& profile : profiles_) nearest.push_back(&profile);
  for (const Profile& profile : displaced_) nearest.push_back(&profile);
  std::stable_sort(nearest.begin(), nearest.end(), [&](const Profile* a, const Profile* b) {
    return distance(a->key.problem, problem, family_.axes()) < distance(b->key.problem, problem, family_.axes());
  });
  std::vector<Configuration> found;
  for (const Profile* profile : nearest) {
    if (found.size() == count) break;
    const auto configuration = parse(space_, profile->configuration);
    if (!configuration || space_.violated(*configuration, problem)) continue;
    if (std::find(found.begin(), found.end(), *configuration) == found.end()) {
      found.push_back(*configuration);
    }
  }
  return found;
}

bool keep_winner(ProfileStore& store, const Visit& visit, const Profile& winner) {
  const std::optional<Profile> present = store.find(winner.key);
  const bool ours = present && present->run != 0 && present->run == winner.run;
  const bool unchanged =
      ours ||
      (present.has_value() == visit.profile.has_value() &&
       (!present || (present->configuration == visit.profile->configuration && present->time == visit.profile->time &&
                     present->source_hash == visit.profile->source_hash)));
  if (!unchanged) return store.keep_if_better(winner);
  store.keep(winner);
  return true;
}

}  // namespace heddle
