#include "heddle/tuner/known_profiles.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "heddle/kernels/error.hpp"
#include "heddle/profiles/present_kernels.hpp"

namespace heddle {

std::optional<Configuration> parse_if_present(const SearchSpace& space, const std::string& text) {
  try {
    return space.parse(text);
  } catch (const Error&) {
    return std::nullopt;
  }
}

KnownProfiles::KnownProfiles(std::vector<Profile> profiles, std::vector<Profile> displaced, const Evaluator& evaluator,
                             const Goal& goal)
    : family_(evaluator.family()), space_(family_.space(evaluator.device())) {
  const auto usable = [&](const Profile& profile) {
    return profile.key.family == family_.name() && !misfit(profile.key.problem, family_.axes());
  };
  const auto ours = [&](const Profile& profile) { return usable(profile) && profile.key.device == evaluator.device(); };
  for (Profile& profile : profiles) {
    const bool alike = usable(profile) && profile.key.device.backend == evaluator.device().backend &&
                       profile.key.device.architecture == evaluator.device().architecture;
    if (ours(profile) && profile.key.goal == goal) {
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

std::vector<PlannedVisit> KnownProfiles::agenda(const std::vector<Problem>& problems, const Environment& now) const {
  PresentKernels present(family_);
  std::vector<PlannedVisit> visits;
  for (const Profile& profile : profiles_) {
    std::string change(heddle::change(present.currency(profile)));
    if (change.empty()) change = change_since(profile, now);
    if (change.empty()) continue;
    visits.push_back(
        {.problem = profile.key.problem, .search = false, .profile = profile, .change = std::move(change)});
  }
  const auto listed = [&](const Problem& problem) {
    return std::any_of(visits.begin(), visits.end(),
                       [&](const PlannedVisit& visit) { return visit.problem == problem; });
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
    if (auto configuration = parse_if_present(space_, text)) parsed.emplace_back(std::move(*configuration), cost);
  }
  return parsed;
}

std::vector<Configuration> KnownProfiles::hints(const Problem& problem, std::size_t count) const {
  std::vector<const Profile*> nearest;
  for (const std::vector<Profile>* const list : {&profiles_, &hint_profiles_}) {
    for (const Profile& profile : *list) {
      if (separating_axis(profile.key.problem, problem, family_.axes()) == nullptr) nearest.push_back(&profile);
    }
  }
  std::stable_sort(nearest.begin(), nearest.end(), [&](const Profile* a, const Profile* b) {
    return squared_distance(a->key.problem, problem, family_.axes()) <
           squared_distance(b->key.problem, problem, family_.axes());
  });
  std::vector<Configuration> found;
  for (const Profile* profile : nearest) {
    if (found.size() == count) break;
    const auto configuration = parse_if_present(space_, profile->configuration);
    if (!configuration || space_.violated(*configuration, problem)) continue;
    if (std::find(found.begin(), found.end(), *configuration) == found.end()) {
      found.push_back(*configuration);
    }
  }
  return found;
}

}  // namespace heddle
