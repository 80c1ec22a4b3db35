#include "heddle/tuner/last_choices.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "heddle/tuner/known_profiles.hpp"

namespace heddle {

namespace {

double mean(const std::map<Problem, double>& values) {
  double sum = 0.0;
  for (const auto& [problem, value] : values) sum += value;
  return sum / static_cast<double>(values.size());
}

}  // namespace

void LastChoices::learn(const Problem& problem, const std::vector<std::pair<Configuration, double>>& costs) {
  std::map<std::string, std::vector<double>> gains;  // by what is added
  std::map<std::string, std::size_t> tried;          // values, by kind
  for (const auto& [configuration, cost] : costs) {
    if (!space_.is_refined(configuration)) continue;
    const Configuration usual = space_.unrefined(configuration);
    const auto beside = std::ranges::find(costs, usual, &std::pair<Configuration, double>::first);
    if (beside == costs.end() || !(cost > 0.0) || !(beside->second > 0.0)) continue;
    // What is chosen last comes behind all other parameters.
    gains[configuration.text().substr(usual.text().size())].push_back(std::log(cost / beside->second));
    // A single one may be a winner of elsewhere, which says nothing of the others.
    std::size_t others = 0;
    for (const Parameter* parameter : space_.chosen_last(usual)) others += parameter->values.size() - 1;
    const std::string here = kind(usual);
    if (2 * ++tried[here] >= others) known_.insert(here);
  }
  for (const auto& [added, logs] : gains) {
    gains_[added][problem] = std::accumulate(logs.begin(), logs.end(), 0.0) / static_cast<double>(logs.size());
  }
}

std::vector<Configuration> LastChoices::worth_trying(const Configuration& fastest) const {
  std::vector<std::pair<double, const std::string*>> order;
  for (const auto& [added, at_problems] : gains_) {
    if (const double gain = mean(at_problems); gain < 0.0) order.emplace_back(gain, &added);
  }
  std::ranges::sort(order, {}, [](const auto& one) { return std::pair(one.first, *one.second); });
  const std::string usual = space_.unrefined(fastest).text();
  std::vector<Configuration> found;
  for (const auto& [gain, added] : order) {
    auto configuration = parse_if_present(space_, usual + *added);  // nothing where one of them has no meaning
    if (configuration && *configuration != fastest) found.push_back(*std::move(configuration));
  }
  return found;
}

bool LastChoices::take_on(const Configuration& fastest) { return known_.insert(kind(fastest)).second; }

std::string LastChoices::kind(const Configuration& configuration) const {
  std::string names;
  for (const Parameter* parameter : space_.chosen_last(configuration)) names += parameter->name + ' ';
  return names;
}

}  // namespace heddle
