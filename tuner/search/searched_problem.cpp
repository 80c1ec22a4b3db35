#include "heddle/tuner/search/searched_problem.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "heddle/kernels/error.hpp"

namespace heddle {

namespace {

std::optional<std::size_t> fastest_of(const CandidateSpace& space, const CostModel& model, const Problem& problem) {
  if (!space.listed()) return std::nullopt;
  std::optional<std::pair<double, std::size_t>> fastest;  // of equals the first, as the dispatcher has it
  for (std::size_t i = 0; i < space.numbered(); ++i) {
    const auto time = model.expected(space.configuration(i), problem);
    if (time && (!fastest || *time < fastest->first)) fastest = {*time, i};
  }
  return fastest ? std::optional(fastest->second) : std::nullopt;
}

}  // namespace

SearchedProblem::SearchedProblem(const Evaluator& evaluator, Problem problem, const Stop& gives_up, const Stop& stop,
                                 const CostModel* model)
    : evaluator_(evaluator),
      problem_(std::move(problem)),
      space_(evaluator.family().space(evaluator.device())),
      candidates_(candidate_space(space_, problem_, gives_up, stop)),
      untuned_(evaluator.family().default_configuration(evaluator.device(), problem_)),
      untuned_number_(find(untuned_)),
      expected_fastest_(model != nullptr ? fastest_of(*candidates_, *model, problem_) : std::nullopt) {
  for (const NamedConfiguration& each : evaluator.family().named_configurations(evaluator.device())) {
    if (auto configuration = each.configuration(problem_)) named_.emplace_back(each.name, std::move(*configuration));
  }
  const auto protect = [&](const Configuration& configuration) {
    const auto index = find(configuration);
    if (index && !is_protected(*index)) protected_.push_back(*index);
  };
  protect(untuned_);
  for (const auto& [name, configuration] : named_) protect(configuration);
}

std::optional<std::size_t> SearchedProblem::find(const std::string& text) const {
  try {
    return find(space_.parse(text));
  } catch (const Error&) {
    return std::nullopt;
  }
}

Configuration SearchedProblem::at(std::size_t configuration) const {
  return is_refined(configuration) ? refined_->at(configuration - kFirstRefined)
                                   : candidates_->configuration(configuration);
}

std::optional<std::size_t> SearchedProblem::find(const Configuration& configuration) const {
  if (!space_.is_refined(configuration)) return candidates_->find(configuration);
  auto place = std::ranges::find(*refined_, configuration);
  if (place == refined_->end()) {
    if (space_.violated(configuration, problem_)) return std::nullopt;
    refined_->push_back(configuration);
    place = refined_->end() - 1;
  }
  return kFirstRefined + static_cast<std::size_t>(place - refined_->begin());
}

std::vector<std::size_t> SearchedProblem::refinements(std::size_t configuration) const {
  std::vector<std::size_t> numbers;
  for (const Configuration& each : space_.refinements(at(configuration), problem_)) {
    if (const auto number = find(each)) numbers.push_back(*number);
  }
  return numbers;
}

std::size_t SearchedProblem::count() const {
  constexpr double kMost = 1e18;
  return static_cast<std::size_t>(std::llround(std::min(kMost, candidates_->count().configurations)));
}

bool SearchedProblem::is_protected(std::size_t configuration) const {
  return std::find(protected_.begin(), protected_.end(), configuration) != protected_.end();
}

std::int64_t SearchedProblem::host_threads(std::size_t configuration) const {
  return evaluator_.family().host_threads(at(configuration), evaluator_.device());
}

std::size_t SearchedProblem::differing_parameters(std::size_t configuration, const Configuration& from) const {
  const Configuration own = at(configuration);
  const auto& entries = own.entries();
  const auto shared = [&](const Configuration::Entry& entry) {
    return std::find(from.entries().begin(), from.entries().end(), entry) != from.entries().end();
  };
  return static_cast<std::size_t>(std::count_if(entries.begin(), entries.end(), std::not_fn(shared)));
}

}  // namespace heddle
