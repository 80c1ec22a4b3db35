#include "heddle/tuner/suggestions.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>

namespace heddle {

namespace {

constexpr std::size_t kFirst = 8;  // configurations to try before the strategy proposes
// At most this many of them are winners of the nearest problems, if costs can be predicted.
constexpr std::size_t kWinners = 3;

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

/// The family's estimate. The evaluator must outlive it.
Transfer::Model model_of(const Evaluator& evaluator) {
  return [&evaluator](const Configuration& configuration, const Problem& problem) -> std::optional<double> {
    const KernelFamily::Estimate estimate = evaluator.family().estimate(configuration, evaluator.device());
    return estimate ? std::optional(estimate(problem)) : std::nullopt;
  };
}

}  // namespace

Suggestions::Suggestions(const Evaluator& evaluator, const KnownProfiles& known)
    : known_(known), transfer_(evaluator.family().axes(), model_of(evaluator)) {}

std::vector<float> Suggestions::expected(const SearchedProblem& problem) const {
  if (!problem.space().listed()) return {};
  std::vector<Configuration> all;
  all.reserve(problem.space().numbered());
  for (std::size_t i = 0; i < problem.space().numbered(); ++i) all.push_back(problem.at(i));
  return transfer_.expected(problem.problem(), all);
}

std::vector<Configuration> Suggestions::first(const SearchedProblem& problem,
                                              const std::vector<float>& expected) const {
  std::vector<Configuration> list = known_.hints(problem.problem(), expected.empty() ? kFirst : kWinners);
  add_fastest(problem, expected, kFirst, list);
  list.resize(std::min(list.size(), kFirst));
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
