#include "heddle/bench/step/stored_knowledge.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "heddle/tuner/known_profiles.hpp"

namespace heddle::bench {

namespace {

Transfer::Model model_of(const std::optional<CostModel>& model) {
  return [&model](const Configuration& configuration, const Problem& problem) -> std::optional<double> {
    const CostModel::Estimate estimate = model ? model->estimate(configuration) : CostModel::Estimate();
    if (!estimate) return std::nullopt;
    const double microseconds = estimate(problem);
    return std::isfinite(microseconds) ? std::optional(microseconds) : std::nullopt;
  };
}

}  // namespace

StoredKnowledge::StoredKnowledge(const Evaluator& evaluator, const ProfileStore& store)
    : model_(choose_model(evaluator.family(), evaluator.device(),
                          store.knowledge(std::string(evaluator.family().name())).models)),
      costs_(evaluator.family().axes(), model_of(model_)) {
  const SearchSpace space = evaluator.family().space(evaluator.device());
  const std::string family(evaluator.family().name());
  std::map<Problem, Transfer::Costs> costs;
  for (const Measurement& one : store.measurements(family, evaluator.device(), evaluator.kernels())) {
    if (one.visit != 0 || !one.cost || one.cold_cache) continue;  // a final has times of its own
    if (auto configuration = parse_if_present(space, one.configuration)) {
      costs[one.key.problem].emplace_back(std::move(*configuration), *one.cost);
    }
  }
  for (const auto& [problem, known] : costs) costs_.learn(problem, known);

  std::map<std::string, int> problems_won;
  for (const Profile& profile : store.knowledge(family).profiles) {
    if (profile.key.device == evaluator.device()) ++problems_won[profile.configuration];
  }
  std::vector<std::pair<int, std::string>> ranked;
  ranked.reserve(problems_won.size());
  for (const auto& [configuration, problems] : problems_won) ranked.emplace_back(-problems, configuration);
  std::ranges::sort(ranked);
  for (const auto& [problems, text] : ranked) {
    if (const auto configuration = parse_if_present(space, text)) winners_.push_back(space.unrefined(*configuration));
  }
}

}  // namespace heddle::bench
