#include "heddle/bench/step/stored_knowledge.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "heddle/tuner/known_profiles.hpp"
#include "heddle/tuner/single_mapping.hpp"

namespace heddle::bench {

namespace {

Transfer::Model model_of(const std::optional<CostModel>& model) {
  return [&model](const Configuration& configuration, const Problem& problem) {
    return model ? model->expected(configuration, problem) : std::nullopt;
  };
}

}  // namespace

StoredKnowledge::StoredKnowledge(const Evaluator& evaluator, const ProfileStore& store)
    : model_(choose_model(evaluator.family(), evaluator.device(),
                          store.knowledge(std::string(evaluator.family().name())).models)),
      costs_(evaluator.family().axes(), model_of(model_)) {
  const SearchSpace space = evaluator.family().space(evaluator.device());
  const std::string family(evaluator.family().name());
  std::vector<Measurement> measured = store.measurements(family, evaluator.device(), evaluator.kernels());
  std::erase_if(measured, [](const Measurement& each) { return each.cold_cache; });
  for (const auto& [problem, costs] : screened_costs(measured)) {
    Transfer::Costs known;
    for (const auto& [text, cost] : costs) {
      if (auto configuration = parse_if_present(space, text)) known.emplace_back(std::move(*configuration), cost);
    }
    costs_.learn(problem, known);
  }

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
