#include "heddle/tuner/search/attempts.hpp"

namespace heddle {

void Attempts::add(std::size_t configuration, const Observation& outcome, Origin origin) {
  outcomes_[configuration] = outcome;
  if (origin == Origin::repeated) repeated_.insert(configuration);
  if (origin == Origin::earlier_run) ++recalled_;
}

void Attempts::reinstate_pruned() {
  for (auto& [configuration, tried] : outcomes_) {
    if (tried.status == Status::pruned) tried.status = Status::unverified;
  }
}

const Observation* Attempts::find(std::size_t configuration) const {
  const auto found = outcomes_.find(configuration);
  return found == outcomes_.end() ? nullptr : &found->second;
}

std::set<std::string> Attempts::tried() const {
  std::set<std::string> texts;
  for (const auto& [configuration, tried] : outcomes_) texts.insert(problem_.at(configuration).text());
  return texts;
}

std::optional<double> Attempts::cost(const std::string& configuration) const {
  const auto index = problem_.find(configuration);
  const Observation* const tried = index ? find(*index) : nullptr;
  return tried == nullptr ? std::nullopt : tried->cost;
}

std::vector<std::pair<Configuration, double>> Attempts::costs() const {
  std::vector<std::pair<Configuration, double>> costs;
  for (const auto& [configuration, tried] : outcomes_) {
    if (tried.cost) costs.emplace_back(problem_.at(configuration), *tried.cost);
  }
  return costs;
}

std::optional<std::size_t> Attempts::fastest() const {
  std::optional<std::pair<double, std::size_t>> fastest;
  for (const auto& [configuration, tried] : outcomes_) {
    if (tried.status != Status::unverified) continue;
    const std::pair here(*tried.cost, configuration);
    if (!fastest || here < *fastest) fastest = here;
  }
  if (!fastest) return std::nullopt;
  return fastest->second;
}

std::optional<double> Attempts::best() const {
  const auto configuration = fastest();
  return configuration ? outcomes_.at(*configuration).cost : std::nullopt;
}

}  // namespace heddle
