#include "heddle/tuner/suggestions.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <optional>

namespace heddle {

namespace {

// At most this many of them are winners of the nearest problems, if costs can be predicted.
constexpr std::size_t kWinners = 3;
// The model is fitted again when there are so many times as many measurements. A fit takes some hundredths of a second.
constexpr double kWorthRefit = 1.3;

// How far costs are from what is expected without a model that says it, a deviation of logarithms; the fits of kernels
// that a model suits are 2 to 5 % off.
constexpr double kUnknownSpread = 0.05;
constexpr std::size_t kConsidered = 64;  // those with the lowest expected cost, of which some are picked

/// Numbers of the `count` configurations with the lowest expected cost.
std::vector<std::size_t> fastest(const std::vector<float>& expected, std::size_t count) {
  std::vector<std::size_t> order(expected.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto end = order.begin() + static_cast<std::ptrdiff_t>(std::min(count, order.size()));
  std::partial_sort(order.begin(), end, order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(expected[a], a) < std::pair(expected[b], b);
  });
  order.erase(end, order.end());
  return order;
}

bool contains(const std::vector<Configuration>& list, const Configuration& configuration) {
  return std::ranges::find(list, configuration) != list.end();
}

/// Fills the list up to `most` with configurations that are expected to be fast, one by one. A variant of one that is
/// tried anyway is hardly ever a surprise: what a model gets wrong for the one it gets wrong for the other. So a
/// configuration may be slower in expectation the less it is like those, up to `spread`, the deviation of the log of
/// costs from what is expected. That is a lower confidence bound, given what is tried before (Desautels, Krause and
/// Burdick 2014). `tried`: what is tried anyway, without values that are chosen last.
void add_promising(const SearchedProblem& problem, const std::vector<float>& expected, double spread, std::size_t most,
                   const std::vector<Configuration>& tried, std::vector<Configuration>& list) {
  struct Candidate {
    Configuration configuration;
    double expected;
    double likest = 0.0;  ///< to one that is tried
    void compare(const Configuration& other) { likest = std::max(likest, likeness(configuration, other)); }
    [[nodiscard]] double bound(double spread) const {
      return expected - spread * std::sqrt(std::max(0.0, 1.0 - likest * likest));
    }
  };
  std::vector<Candidate> candidates;
  for (const std::size_t number : fastest(expected, kConsidered)) {
    if (problem.is_protected(number)) continue;
    Candidate candidate{.configuration = problem.at(number), .expected = expected[number]};
    if (contains(list, candidate.configuration)) continue;
    for (const Configuration& other : tried) candidate.compare(other);
    candidates.push_back(std::move(candidate));
  }
  while (list.size() < most && !candidates.empty()) {
    const auto best =
        std::ranges::min_element(candidates, {}, [&](const Candidate& each) { return each.bound(spread); });
    list.push_back(std::move(best->configuration));
    candidates.erase(best);
    for (Candidate& each : candidates) each.compare(list.back());
  }
}

}  // namespace

Suggestions::Suggestions(const Evaluator& evaluator, const KnownProfiles& known, const std::vector<FittedModel>& models)
    : evaluator_(evaluator),
      known_(known),
      prior_(choose_model(evaluator.family(), evaluator.device(), models, nullptr, false)),
      before_(choose_model(evaluator.family(), evaluator.device(), models)),
      model_(before_),
      points_(evaluator.family(), evaluator.device()),
      transfer_(evaluator.family().axes(), [this](const Configuration& configuration, const Problem& problem) {
        return modelled(configuration, problem);
      }) {}

std::optional<double> Suggestions::modelled(const Configuration& configuration, const Problem& problem) const {
  return model_ ? model_->expected(configuration, problem) : std::nullopt;
}

void Suggestions::learn(const Problem& problem, const Transfer::Costs& costs) {
  transfer_.learn(problem, costs);
  if (!can_be_timed(evaluator_.device().backend)) return;
  for (const auto& [configuration, cost] : costs) points_.add(problem, configuration, cost);
  if (static_cast<double>(points_.size()) < kWorthRefit * static_cast<double>(fitted_points_)) return;
  refit();
}

/// A fit of this run counts unless the device's own model rests on more measurements.
void Suggestions::refit() {
  fitted_points_ = points_.size();
  auto fitted = fit_model(points_, prior_ ? &*prior_ : nullptr);
  if (!fitted || fitted->left_out_error > kMostLeftOutError) return;
  const bool own = model_ && model_->source() == CostModel::Source::device;
  if (own && model_->fitted().measurements > fitted->measurements) return;
  fitted->kernels = evaluator_.kernels();
  model_.emplace(evaluator_.family(), evaluator_.device(), std::move(*fitted), CostModel::Source::device);
}

std::vector<float> Suggestions::expected(const SearchedProblem& problem) const {
  if (!problem.space().listed()) return {};
  std::vector<Configuration> all;
  all.reserve(problem.space().numbered());
  for (std::size_t i = 0; i < problem.space().numbered(); ++i) all.push_back(problem.at(i));
  return transfer_.expected(problem.problem(), all);
}

std::vector<Configuration> Suggestions::first(const SearchedProblem& problem, const std::vector<float>& expected,
                                              std::size_t most) const {
  const KernelFamily& family = evaluator_.family();
  const SearchSpace space = family.space(evaluator_.device());
  std::vector<Configuration> list;
  // Whatever the measurements of this run make of the model: tuning is to find nothing slower than what ran before.
  if (const auto choice = problem.expected_fastest(); choice && !problem.is_protected(*choice)) {
    list.push_back(problem.at(*choice));
  }
  for (Configuration& hint : known_.hints(problem.problem(), expected.empty() ? most : std::min(kWinners, most / 2))) {
    if (list.size() < most && !contains(list, hint)) list.push_back(std::move(hint));
  }
  std::vector<Configuration> likely = family.likely_configurations(evaluator_.device(), problem.problem());
  std::vector<Configuration> tried = likely;
  for (const std::size_t number : problem.protected_configurations()) tried.push_back(problem.at(number));
  for (const Configuration& each : list) tried.push_back(space.unrefined(each));
  add_promising(problem, expected, model_ ? model_->fitted().left_out_error : kUnknownSpread, most, tried, list);
  for (Configuration& each : likely) {
    if (!contains(list, each)) list.push_back(std::move(each));
  }
  return list;
}

std::vector<Configuration> Suggestions::later(const SearchedProblem& problem, const std::set<std::string>& tried,
                                              const Profile& winner) const {
  std::vector<Configuration> list = known_.hints(problem.problem(), kFirst);
  for (const std::size_t number : fastest(expected(problem), kFirst)) {
    if (Configuration fast = problem.at(number); !contains(list, fast)) list.push_back(std::move(fast));
  }
  std::erase_if(list, [&](const Configuration& c) {
    const std::string text = c.text();
    return text != winner.configuration && tried.contains(text);
  });
  const bool nothing_new = list.size() == 1 && list.front().text() == winner.configuration;
  if (nothing_new) list.clear();
  return list;
}

}  // namespace heddle
