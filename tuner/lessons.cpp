#include "heddle/tuner/lessons.hpp"

#include <algorithm>

#include "heddle/tuner/screening.hpp"

namespace heddle {

Lessons::Lessons(const Evaluator& evaluator, KnownProfiles& known, const std::vector<Problem>& problems,
                 const std::vector<PlannedVisit>& agenda, const Journal& journal,
                 const std::vector<FittedModel>& models)
    : evaluator_(evaluator),
      known_(known),
      coverage_(evaluator.family().axes(), problems),
      suggestions_(evaluator, known_, models),
      last_choices_(evaluator.family().space(evaluator.device())) {
  for (const PlannedVisit& visit : agenda) {
    if (visit.search && visit.profile) coverage_.add_tuned(visit.problem);
  }
  for (const Profile& profile : known_.profiles()) {
    learn(profile.key.problem, known_.parse(journal.earlier_costs(profile.key.problem)));
  }
}

void Lessons::learn(const ProblemSearch& search, const TuningResult& result) {
  Transfer::Costs costs = search.attempts().costs();
  // What is wrong is no example, however fast it seemed.
  for (const auto& [configuration, finalist] : search.decision().finalists()) {
    if (!finalist.failed()) continue;
    const Configuration wrong = search.problem().at(configuration);
    std::erase_if(costs, [&](const auto& each) { return each.first == wrong; });
    last_choices_.forget(result.problem, wrong);
  }
  learn(result.problem, costs);
  if (result.out_of_time) {
    seconds_per_operation_ = std::max(seconds_per_operation_, *result.out_of_time / pilot_operations(result.problem));
  }
  if (!result.profile) return;
  for (const Profile& other : known_.profiles()) {
    const auto cost = search.attempts().cost(other.configuration);
    if (cost && other.key.problem != result.problem) {
      coverage_.learn(other.key.problem, result.problem, *cost / result.objective.value_or(result.profile->time) - 1.0);
    }
  }
  coverage_.add_tuned(result.problem);
}

void Lessons::learn(const Problem& problem, const Transfer::Costs& costs) {
  suggestions_.learn(problem, costs);
  last_choices_.learn(problem, costs);
  auto& known = costs_[problem];
  for (const auto& [configuration, cost] : costs) known.insert_or_assign(configuration.text(), cost);
}

std::optional<LikelyMapping> Lessons::likely_single_mapping(const std::vector<Profile>& winners) const {
  return heddle::likely_single_mapping(evaluator_.family(), evaluator_.device(), winners, costs_, model_of_times());
}

ExpectedCost Lessons::model_of_times() const {
  return [this](const Configuration& configuration, const Problem& problem) {
    return suggestions_.modelled(configuration, problem);
  };
}

void Lessons::count_as_tuned(const std::vector<Problem>& problems) {
  for (const Problem& problem : problems) coverage_.add_tuned(problem);
}

double Lessons::least_pilot_seconds(const Problem& problem) const {
  return seconds_per_operation_ == 0.0 ? 0.0 : seconds_per_operation_ * pilot_operations(problem);
}

/// Arithmetic operations of the pilot run: the untuned default's first run.
double Lessons::pilot_operations(const Problem& problem) const {
  const KernelFamily& family = evaluator_.family();
  const Configuration untuned = family.default_configuration(evaluator_.device(), problem);
  const Plan plan = family.plan(untuned, problem, evaluator_.device(), pilot_work(timed_work(evaluator_, problem)));
  return family.work(problem).operations * static_cast<double>(plan.samples);
}

}  // namespace heddle
