#include "heddle/tuner/single_mapping.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "heddle/tuner/known_profiles.hpp"

namespace heddle {

namespace {

/// Screened costs by configuration at each problem, microseconds per unit.
using CostsOfProblems = std::map<Problem, std::map<std::string, double>>;

CostsOfProblems screened_costs(const std::vector<Measurement>& measurements) {
  CostsOfProblems costs;
  for (const Measurement& measurement : measurements) {
    if (measurement.visit != 0 || !measurement.cost || *measurement.cost <= 0.0) continue;
    costs[measurement.key.problem].insert_or_assign(measurement.configuration, *measurement.cost);
  }
  return costs;
}

/// A problem with a winner whose screening is known.
struct Reference {
  const Problem* problem;
  const std::map<std::string, double>* costs;
  double winner;                  ///< cost
  std::optional<double> untuned;  ///< cost of the default
};

std::vector<Reference> references(const KernelFamily& family, const DeviceIdentity& device,
                                  const std::vector<Profile>& winners, const CostsOfProblems& costs) {
  std::vector<Reference> found;
  found.reserve(winners.size());
  for (const Profile& profile : winners) {
    const auto known = costs.find(profile.key.problem);
    if (known == costs.end()) continue;
    const auto winner = known->second.find(profile.configuration);
    if (winner == known->second.end()) continue;
    const auto untuned = known->second.find(family.default_configuration(device, profile.key.problem).text());
    found.push_back({.problem = &profile.key.problem,
                     .costs = &known->second,
                     .winner = winner->second,
                     .untuned = untuned == known->second.end() ? std::nullopt : std::optional(untuned->second)});
  }
  return found;
}

}  // namespace

std::optional<SingleMapping> best_single_mapping(const KernelFamily& family, const DeviceIdentity& device,
                                                 const std::vector<Profile>& winners,
                                                 const std::vector<Measurement>& measurements) {
  const CostsOfProblems costs = screened_costs(measurements);
  const std::vector<Reference> all = references(family, device, winners, costs);
  if (all.size() < 2) return std::nullopt;
  const SearchSpace space = family.space(device);
  std::set<std::string> configurations;
  for (const Reference& reference : all) {
    for (const auto& [configuration, cost] : *reference.costs) configurations.insert(configuration);
  }
  std::optional<SingleMapping> best;
  for (const std::string& text : configurations) {
    SingleMapping mapping{.configuration = text, .problems = all.size()};
    const auto measured = static_cast<std::size_t>(
        std::ranges::count_if(all, [&](const Reference& reference) { return reference.costs->contains(text); }));
    if (2 * measured < all.size()) continue;
    const auto configuration = parse_if_present(space, text);
    if (!configuration) continue;
    for (const Reference& reference : all) {
      const auto cost = reference.costs->find(text);
      if (cost != reference.costs->end()) {
        mapping.mean_log_ratio += std::log(cost->second / reference.winner);
        ++mapping.tried;
      } else if (reference.untuned && space.violated(*configuration, *reference.problem)) {
        mapping.mean_log_ratio += std::log(*reference.untuned / reference.winner);
        ++mapping.tried;
      }
    }
    mapping.mean_log_ratio /= static_cast<double>(mapping.tried);
    if (!best || mapping.mean_log_ratio < best->mean_log_ratio) best = std::move(mapping);
  }
  return best;
}

}  // namespace heddle
