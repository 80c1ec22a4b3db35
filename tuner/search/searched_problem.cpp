#include "heddle/tuner/search/searched_problem.hpp"

#include <algorithm>
#include <functional>

namespace heddle {

SearchedProblem::SearchedProblem(const Evaluator& evaluator, Problem problem)
    : evaluator_(evaluator),
      problem_(std::move(problem)),
      configurations_(evaluator.family().space(evaluator.device()).enumerate(problem_)),
      untuned_(evaluator.family().default_configuration(evaluator.device(), problem_)) {
  for (std::size_t i = 0; i < configurations_.size(); ++i) indices_.emplace(configurations_[i].text(), i);
  for (const NamedConfiguration& each : evaluator.family().named_configurations(evaluator.device())) {
    if (auto configuration = each.configuration(problem_)) named_.emplace_back(each.name, std::move(*configuration));
  }
  const auto protect = [&](const Configuration& configuration) {
    const auto index = find(configuration.text());
    if (index && !is_protected(*index)) protected_.push_back(*index);
  };
  protect(untuned_);
  for (const auto& [name, configuration] : named_) protect(configuration);
}

std::optional<std::size_t> SearchedProblem::find(const std::string& text) const {
  const auto found = indices_.find(text);
  if (found == indices_.end()) return std::nullopt;
  return found->second;
}

bool SearchedProblem::is_protected(std::size_t configuration) const {
  return std::find(protected_.begin(), protected_.end(), configuration) != protected_.end();
}

std::int64_t SearchedProblem::host_threads(std::size_t configuration) const {
  return evaluator_.family().host_threads(at(configuration), evaluator_.device());
}

std::size_t SearchedProblem::differing_parameters(std::size_t configuration, const Configuration& from) const {
  const auto& entries = at(configuration).entries();
  const auto shared = [&](const Configuration::Entry& entry) {
    return std::find(from.entries().begin(), from.entries().end(), entry) != from.entries().end();
  };
  return static_cast<std::size_t>(std::count_if(entries.begin(), entries.end(), std::not_fn(shared)));
}

}  // namespace heddle
