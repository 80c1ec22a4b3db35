#include "heddle/tuner/suggestions.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>

namespace heddle {

namespace {

// At most this many of them are winners of the nearest problems, if costs can be predicted.
constexpr std::size_t kWinners = 3;
// The model is fitted again when there are so many times as many measurements. A fit takes some hundredths of a second.
constexpr double kWorthRefit = 1.3;

/// Adds those of the `count` configurations with the lowest expected cost that are not in the list yet.
void add_fastest(const SearchedProblem& problem, const std::vector<float>& expected, std::size_t count,
                 std::vector<Configuration>& list) {
  std::vector<std::size_t> order(expected.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto end = order.begin() + static_cast<std::ptrdiff_t>(std::min(count, order.size()));
  std::partial_sort(order.begin(), end, order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(expected[a], a) < std::pair(expected[b], b);
  });
  for (auto next = order.begin(); next != end; ++next) {
    Configuration fast = problem.at(*next);
    if (std::find(list.begin(), list.end(), fast) == list.end()) list.push_back(std::move(fast));
  }
}

}  // namespace

Suggestions::Suggestions(const Evaluator& evaluator, const KnownProfiles& known, const std::vector<FittedModel>& models)
    : evaluator_(evaluator),
      known_(known),
      prior_(choose_model(evaluator.family(), evaluator.device(), models, nullptr, false)),
      model_(choose_model(evaluator.family(), evaluator.device(), models)),
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
  std::vector<Configuration> list =
      known_.hints(problem.problem(), expected.empty() ? most : std::min(kWinners, most / 2));
  add_fastest(problem, expected, most, list);
  list.resize(std::min(list.size(), most));
  for (Configuration& likely : evaluator_.family().likely_configurations(evaluator_.device(), problem.problem())) {
    if (std::ranges::find(list, likely) == list.end()) list.push_back(std::move(likely));
  }
  return list;
}

std::vector<Configuration> Suggestions::later(const SearchedProblem& problem, const std::set<std::string>& tried,
                                              const Profile& winner) const {
  std::vector<Configuration> list = known_.hints(problem.problem(), kFirst);
  add_fastest(problem, expected(problem), kFirst, list);
  std::erase_if(list, [&](const Configuration& c) {
    const std::string text = c.text();
    return text != winner.configuration && tried.contains(text);
  });
  const bool nothing_new = list.size() == 1 && list.front().text() == winner.configuration;
  if (nothing_new) list.clear();
  return list;
}

}  // namespace heddle
