#include "heddle/tuner/last_choices.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string_view>

#include "heddle/kernels/lapack.hpp"
#include "heddle/tuner/draw.hpp"
#include "heddle/tuner/known_profiles.hpp"

namespace heddle {

namespace {

// A single measurement of a value, in the screening, may be off by as much; of a dozen values one is.
constexpr double kLeastGain = 0.01;
// A value does so much at least, or it is not tried beside others with which it was not measured.
constexpr double kLeastGainBesideOthers = kLeastGain / 4.0;
// Problems that find out what values are worth: at a single one, what helps at most others may do nothing, or chance
// may decide what is measured.
constexpr std::size_t kFindOut = 3;
// Draws for each configuration that is wanted, many of which are of one value or were drawn before.
constexpr std::size_t kDraws = 8;
constexpr std::uint64_t kDrawnTogether = 0x1a57;
// What the sum of the gains of single values counts beside problems at which they were measured together.
constexpr double kPriorProblems = 1.0;
// Pulls the gain of a value towards nothing: a tenth of it is lost if it was measured at three problems.
constexpr double kRidgeOfValues = 0.3;

double mean(const std::map<Problem, double>& values) {
  double sum = 0.0;
  for (const auto& [problem, value] : values) sum += value;
  return sum / static_cast<double>(values.size());
}

/// " wait=1 copies=4" as its values.
std::vector<std::string> values_of(std::string_view added) {
  std::vector<std::string> values;
  while (!added.empty()) {
    added.remove_prefix(1);
    const std::size_t end = std::min(added.find(' '), added.size());
    values.emplace_back(added.substr(0, end));
    added.remove_prefix(end);
  }
  return values;
}

}  // namespace

void LastChoices::learn(const Problem& problem, const std::vector<std::pair<Configuration, double>>& costs) {
  std::map<std::string, Known>& known = known_[problem];
  for (const auto& [configuration, cost] : costs) {
    if (!(cost > 0.0)) continue;
    std::string names = space_.is_refined(configuration) ? std::string() : kind(configuration);
    if (!names.empty()) of_kind_.try_emplace(names, configuration);
    known.insert_or_assign(configuration.text(), Known{.kind = std::move(names), .cost = cost});
  }
  std::map<std::string, std::vector<double>> gains;  // by what is added
  std::map<std::string, std::size_t> tried;          // values, by kind
  for (const auto& [configuration, cost] : costs) {
    if (!(cost > 0.0) || !space_.is_refined(configuration)) continue;
    const Configuration usual = space_.unrefined(configuration);
    const auto beside = known.find(usual.text());
    if (beside == known.end()) continue;
    // What is chosen last comes behind all other parameters.
    gains[configuration.text().substr(usual.text().size())].push_back(std::log(cost / beside->second.cost));
    // A single one may be a winner of elsewhere, which says nothing of the others.
    std::size_t others = 0;
    for (const Parameter* parameter : space_.chosen_last(usual)) others += parameter->values.size() - 1;
    const std::string here = kind(usual);
    if (2 * ++tried[here] >= others) found_out_[here].insert(problem);
  }
  if (!gains.empty()) ++revision_;
  for (const auto& [added, logs] : gains) {
    gains_[added][problem] = std::accumulate(logs.begin(), logs.end(), 0.0) / static_cast<double>(logs.size());
  }
}

void LastChoices::forget(const Problem& problem, const Configuration& configuration) {
  known_[problem].erase(configuration.text());
}

std::optional<double> LastChoices::cost(const Problem& problem, const std::string& configuration) const {
  const auto here = known_.find(problem);
  if (here == known_.end()) return std::nullopt;
  const auto known = here->second.find(configuration);
  return known == here->second.end() ? std::nullopt : std::optional(known->second.cost);
}

std::map<std::string, double> LastChoices::gains_of_values() const {
  std::map<std::string, std::size_t> place;
  for (const auto& [added, at_problems] : gains_) {
    for (const std::string& value : values_of(added)) place.try_emplace(value, place.size());
  }
  const std::size_t count = place.size();
  std::vector<double> matrix(count * count), right(count);
  for (std::size_t i = 0; i < count; ++i) matrix[i * count + i] = kRidgeOfValues;
  for (const auto& [added, at_problems] : gains_) {
    const auto problems = static_cast<double>(at_problems.size());
    const std::vector<std::string> values = values_of(added);
    for (const std::string& one : values) {
      right[place.at(one)] += problems * mean(at_problems);
      for (const std::string& other : values) matrix[place.at(one) * count + place.at(other)] += problems;
    }
  }
  const auto n = static_cast<lapack_int>(count);
  std::map<std::string, double> gains;
  if (count == 0 || LAPACKE_dposv(LAPACK_COL_MAJOR, 'L', n, 1, matrix.data(), n, right.data(), n) != 0) return gains;
  for (const auto& [value, i] : place) gains.emplace(value, right[i]);
  return gains;
}

std::vector<LastChoices::Worth> LastChoices::expected_gains(const Configuration& usual) const {
  const std::map<std::string, double> of_values = gains_of_values();
  std::vector<Worth> all{{.added = "", .gain = 0.0}};
  for (const Parameter* parameter : space_.chosen_last(usual)) {
    const std::size_t without = all.size();
    for (const Value& value : parameter->values) {
      const std::string word = parameter->name + '=' + text(value);
      const auto gain = of_values.find(word);
      if (gain == of_values.end()) continue;
      for (std::size_t i = 0; i < without; ++i) all.push_back({all[i].added + ' ' + word, all[i].gain + gain->second});
    }
  }
  std::erase_if(all, [&](const Worth& each) {
    return !gains_.contains(each.added) && !std::ranges::all_of(values_of(each.added), [&](const std::string& value) {
      return of_values.at(value) < -kLeastGainBesideOthers;
    });
  });
  for (Worth& each : all) {
    const auto together = gains_.find(each.added);
    if (together == gains_.end()) continue;
    const auto problems = static_cast<double>(together->second.size());
    each.gain = (problems * mean(together->second) + kPriorProblems * each.gain) / (problems + kPriorProblems);
  }
  std::erase_if(all, [](const Worth& each) { return each.gain >= -kLeastGain; });
  std::ranges::sort(all, {}, [](const Worth& each) { return std::pair(each.gain, each.added); });
  return all;
}

const std::vector<LastChoices::Worth>& LastChoices::by_gain(const std::string& kind) const {
  auto [place, fresh] = by_gain_.try_emplace(kind);
  auto& [revision, gains] = place->second;
  if (fresh || revision != revision_) {
    gains = expected_gains(of_kind_.at(kind));
    revision = revision_;
  }
  return gains;
}

std::vector<std::pair<double, std::string>> LastChoices::cheaper(const Problem& problem, double most) const {
  std::vector<std::pair<double, std::string>> found;
  const auto here = known_.find(problem);
  if (here == known_.end()) return found;
  for (const auto& [text, usual] : here->second) {
    if (usual.kind.empty()) continue;
    for (const Worth& worth : by_gain(usual.kind)) {
      const double cost = usual.cost * std::exp(worth.gain);
      if (cost >= most) break;
      found.emplace_back(cost, text + worth.added);
    }
  }
  std::ranges::sort(found);
  return found;
}

std::vector<Configuration> LastChoices::worth_trying(const Problem& problem, double fastest, std::size_t most) const {
  std::vector<Configuration> found;
  for (const auto& [cost, text] : cheaper(problem, fastest * std::exp(-kLeastGain))) {
    if (found.size() == most) break;
    if (known_.at(problem).contains(text)) continue;
    if (auto configuration = parse_if_present(space_, text)) found.push_back(*std::move(configuration));
  }
  return found;
}

std::optional<Configuration> LastChoices::untried(const Problem& problem, double fastest,
                                                  const std::set<std::string>& tried) const {
  for (const auto& [cost, text] : cheaper(problem, fastest * std::exp(kLeastGain))) {
    if (tried.contains(text)) continue;
    auto configuration = parse_if_present(space_, text);  // nothing if it is of another space
    if (configuration && !space_.violated(*configuration, problem)) return configuration;
  }
  return std::nullopt;
}

bool LastChoices::take_on(const Configuration& fastest, const Problem& problem) {
  std::set<Problem>& problems = found_out_[kind(fastest)];
  return problems.size() < kFindOut && problems.insert(problem).second;
}

std::vector<Configuration> LastChoices::drawn(const Configuration& fastest, std::size_t count) const {
  const Configuration usual = space_.unrefined(fastest);
  const std::vector<const Parameter*> parameters = space_.chosen_last(usual);
  const auto takers = found_out_.find(kind(usual));
  Draw draw(takers == found_out_.end() ? 0 : takers->second.size(), kDrawnTogether, 0);
  std::set<std::string> texts;
  std::vector<Configuration> found;
  for (std::size_t i = 0; i < kDraws * count && found.size() < count; ++i) {
    std::string added;
    std::size_t values = 0;
    for (const Parameter* parameter : parameters) {
      const std::size_t level = draw.below(parameter->values.size());
      if (level == 0) continue;  // the usual one
      added += ' ' + parameter->name + '=' + text(parameter->values[level]);
      ++values;
    }
    if (values < 2 || gains_.contains(added) || !texts.insert(added).second) continue;
    if (auto configuration = parse_if_present(space_, usual.text() + added)) found.push_back(*std::move(configuration));
  }
  return found;
}

std::string LastChoices::kind(const Configuration& configuration) const {
  std::string names;
  for (const Parameter* parameter : space_.chosen_last(configuration)) names += parameter->name + ' ';
  return names;
}

}  // namespace heddle
