#include "heddle/tuner/last_choices.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>
#include <string_view>

#include "heddle/tuner/known_profiles.hpp"

namespace heddle {

namespace {

// A single measurement of a value, in the screening, may be off by as much; of a dozen values one is.
constexpr double kLeastGain = 0.01;

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
  if (!gains.empty()) ++revision_;
  for (const auto& [added, logs] : gains) {
    gains_[added][problem] = std::accumulate(logs.begin(), logs.end(), 0.0) / static_cast<double>(logs.size());
  }
}

std::vector<const std::string*> LastChoices::by_gain(const Configuration& usual) const {
  std::set<std::string, std::less<>> names;
  for (const Parameter* parameter : space_.chosen_last(usual)) names.insert(parameter->name);
  const auto has_meaning = [&](std::string_view added) {  // " wait=1 copies=4"
    while (!added.empty()) {
      added.remove_prefix(1);
      if (!names.contains(added.substr(0, added.find('=')))) return false;
      added.remove_prefix(std::min(added.find(' '), added.size()));
    }
    return true;
  };
  std::vector<std::pair<double, const std::string*>> order;
  for (const auto& [added, at_problems] : gains_) {
    const double gain = mean(at_problems);
    if (gain < -kLeastGain && has_meaning(added)) order.emplace_back(gain, &added);
  }
  std::ranges::sort(order, {}, [](const auto& one) { return std::pair(one.first, *one.second); });
  std::vector<const std::string*> found;
  found.reserve(order.size());
  for (const auto& [gain, added] : order) found.push_back(added);
  return found;
}

std::vector<Configuration> LastChoices::worth_trying(const Configuration& fastest) const {
  const Configuration usual = space_.unrefined(fastest);
  std::vector<Configuration> found;
  for (const std::string* added : by_gain(usual)) {
    auto configuration = parse_if_present(space_, usual.text() + *added);  // nothing if it is of another space
    if (configuration && *configuration != fastest) found.push_back(*std::move(configuration));
  }
  return found;
}

std::optional<Configuration> LastChoices::best(const Configuration& winner, const Problem& problem) const {
  const Configuration usual = space_.unrefined(winner);
  for (const std::string* added : by_gain(usual)) {
    auto configuration = parse_if_present(space_, usual.text() + *added);
    if (configuration && !space_.violated(*configuration, problem)) return configuration;
  }
  return std::nullopt;
}

bool LastChoices::take_on(const Configuration& fastest) { return known_.insert(kind(fastest)).second; }

std::string LastChoices::kind(const Configuration& configuration) const {
  std::string names;
  for (const Parameter* parameter : space_.chosen_last(configuration)) names += parameter->name + ' ';
  return names;
}

}  // namespace heddle
