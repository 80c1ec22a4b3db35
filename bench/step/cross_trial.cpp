#include "heddle/bench/step/cross_trial.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
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

}  // namespace

std::map<Problem, std::string> cross_tried(Evaluator& evaluator, std::map<Problem, std::string> winners,
                                           const std::vector<Problem>& problems, const StopCondition& stop) {
  const SearchSpace space = evaluator.family().space(evaluator.device());
  std::set<std::string> distinct;
  for (const auto& [problem, configuration] : winners) distinct.insert(configuration);
  for (const Problem& problem : problems) {
    if (stop.reached()) break;
    std::vector<Configuration> allowed;
    for (const std::string& text : distinct) {
      Configuration configuration = space.parse(text);
      if (!space.violated(configuration, problem)) allowed.push_back(std::move(configuration));
    }
    if (allowed.empty()) continue;
    compile(evaluator, allowed, problem);
    const auto own = winners.find(problem);
    const Configuration usual = own == winners.end() ? allowed.front() : space.parse(own->second);
    const auto fastest = fastest_of(evaluator, allowed, problem, choose_samples(evaluator, usual, problem));
    if (fastest) winners.insert_or_assign(problem, fastest->text());
  }
  return winners;
}

}  // namespace heddle::bench
