#include "heddle/bench/step/cross_trial.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "heddle/bench/common/interleave.hpp"
#include "heddle/tuner/screening.hpp"

namespace heddle::bench {

namespace {

double least(const std::vector<double>& times) {
  return times.empty() ? std::numeric_limits<double>::infinity() : *std::ranges::min_element(times);
}

/// The fastest in turns of three, of those that one look does not rule out: most of what won elsewhere is far slower.
std::optional<Configuration> fastest_of(Evaluator& evaluator, const std::vector<Configuration>& all,
                                        const Problem& problem, std::int64_t samples) {
  constexpr int kRounds = 3;
  constexpr double kRuledOut = 1.25;
  const auto looks = interleave(evaluator, all, problem, samples, 1);
  const double best = least(*std::ranges::min_element(looks, {}, least));
  std::vector<Configuration> left;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (least(looks[i]) <= kRuledOut * best && !looks[i].empty()) left.push_back(all[i]);
  }
  if (left.empty()) return std::nullopt;
  const auto times = interleave(evaluator, left, problem, samples, kRounds);
  const auto fastest = std::ranges::min_element(times, {}, least);
  return fastest->empty() ? std::nullopt : std::optional(left[static_cast<std::size_t>(fastest - times.begin())]);
}

/// The winners of the nearest problems that `problem` allows, each once, its own first.
std::vector<Configuration> nearest_winners(const std::map<Problem, std::string>& winners, const SearchSpace& space,
                                           const std::vector<Axis>& axes, const Problem& problem) {
  // Compiling takes most of the time. In a table of 50 problems for which all were tried (H100, 4f454a8), the fastest
  // of heddle's and of the launched mappings of each problem had also won at one of its 16 nearest, or nowhere else.
  constexpr std::size_t kMost = 16;
  std::vector<std::pair<double, std::string>> by_distance;
  by_distance.reserve(winners.size());
  for (const auto& [other, text] : winners) by_distance.emplace_back(squared_distance(problem, other, axes), text);
  std::ranges::sort(by_distance);
  std::vector<Configuration> nearest;
  for (const auto& [distance, text] : by_distance) {
    Configuration configuration = space.parse(text);
    if (space.violated(configuration, problem) || std::ranges::find(nearest, configuration) != nearest.end()) continue;
    nearest.push_back(std::move(configuration));
    if (nearest.size() == kMost) break;
  }
  return nearest;
}

}  // namespace

std::map<Problem, std::string> cross_tried(Evaluator& evaluator, const std::map<Problem, std::string>& winners,
                                           const std::vector<Problem>& problems, const StopCondition& stop) {
  const SearchSpace space = evaluator.family().space(evaluator.device());
  const std::vector<Axis>& axes = evaluator.family().axes();
  std::map<Problem, std::string> better = winners;
  for (const Problem& problem : problems) {
    if (stop.reached()) break;
    const std::vector<Configuration> allowed = nearest_winners(winners, space, axes, problem);
    if (allowed.empty()) continue;
    compile(evaluator, allowed, problem);
    const std::int64_t samples = choose_samples(evaluator, allowed.front(), problem);
    if (const auto fastest = fastest_of(evaluator, allowed, problem, samples)) {
      better.insert_or_assign(problem, fastest->text());
    }
  }
  return better;
}

}  // namespace heddle::bench
