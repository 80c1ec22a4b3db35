#include "heddle/tuner/suggestions.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>

namespace heddle {

namespace {

constexpr std::size_t kFirst = 8;    // configurations that are tried before a strategy is asked
constexpr std::size_t kWinners = 3;  // of them winners of the nearest problems, where more is expected of others

/// Adds those of which the most is expected, at most `count`, as far as they are not there.
void add_fastest(const ProblemSearch& search, const std::vector<float>& expected, std::size_t count,
                 std::vector<Configuration>& list) {
  std::vector<std::size_t> order(expected.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto end = order.begin() + static_cast<std::ptrdiff_t>(std::min(count, order.size()));
  std::partial_sort(order.begin(), end, order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(expected[a], a) < std::pair(expected[b], b);
  });
  for (auto next = order.begin(); next != end; ++next) {
    const Configuration& fast = search.configurations()[*next];
    if (std::find(list.begin(), list.end(), fast) == list.end()) list.push_back(fast);
  }
}

}  // namespace

std::vector<float> Suggestions::expected(const ProblemSearch& search) const {
  std::vector<float> losses = transfer_.expected(search.problem(), search.configurations());
  return losses.empty() ? modelled(search) : losses;
}

std::vector<float> Suggestions::modelled(const ProblemSearch& search) const {
  constexpr float kUnknown = 0.5F;
  constexpr float kNever = std::numeric_limits<float>::infinity();
  std::vector<float> losses;
  for (const Configuration& configuration : search.configurations()) {
    const auto time = evaluator_.family().estimate(configuration, evaluator_.device());
    losses.push_back(time ? static_cast<float>(std::log(time(search.problem()))) : kNever);
  }
  const auto least = std::min_element(losses.begin(), losses.end());
  if (least == losses.end() || *least == kNever) return {};
  for (const float best = *least; float& loss : losses) loss = std::min(kUnknown, loss - best);
  return losses;
}

std::vector<Configuration> Suggestions::first(const ProblemSearch& search, const std::vector<float>& expected) const {
  std::vector<Configuration> list = known_.hints(search.problem(), expected.empty() ? kFirst : kWinners);
  add_fastest(search, expected, kFirst, list);
  list.resize(std::min(list.size(), kFirst));
  return list;
}

std::vector<Configuration> Suggestions::later(const ProblemSearch& search, const std::set<std::string>& tried,
                                              const Profile& winner) const {
  std::vector<Configuration> list = known_.hints(search.problem(), kFirst);
  add_fastest(search, expected(search), kFirst, list);
  std::erase_if(list, [&](const Configuration& c) {
    const std::string text = c.text();
    return text != winner.configuration && tried.contains(text);
  });
  const bool nothing_new = list.size() == 1 && list.front().text() == winner.configuration;
  if (nothing_new) list.clear();
  return list;
}

}  // namespace heddle
