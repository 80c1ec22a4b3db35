#include "heddle/bench/step/fixed_mapping.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <utility>

#include "heddle/bench/common/interleave.hpp"
#include "heddle/tuner/screening.hpp"
#include "heddle/tuner/statistics.hpp"

namespace heddle::bench {

namespace {

constexpr int kRounds = 3;
constexpr double kFailed = 1e4;  // microseconds, where it did not run

/// What every problem allows.
std::vector<Configuration> allowed_everywhere(const SearchSpace& space, const std::vector<Problem>& problems) {
  std::vector<Configuration> allowed = space.enumerate(problems.front());
  for (const Problem& problem : problems) {
    std::erase_if(allowed, [&](const Configuration& one) { return space.violated(one, problem).has_value(); });
  }
  return allowed;
}

/// As many of each value of the first parameter, the scheme, as there are places: which of them is fast is not known.
std::vector<Configuration> draw(std::vector<Configuration> all, std::size_t most) {
  std::shuffle(all.begin(), all.end(), std::mt19937(1));
  std::map<std::string, std::vector<Configuration>> kinds;
  for (Configuration& one : all) {
    const std::string text = one.text();
    kinds[text.substr(0, text.find(' '))].push_back(std::move(one));
  }
  std::vector<Configuration> drawn;
  for (bool left = true; left && drawn.size() < most;) {
    left = false;
    for (auto& [kind, ones] : kinds) {
      if (ones.empty() || drawn.size() == most) continue;
      drawn.push_back(std::move(ones.back()));
      ones.pop_back();
      left = true;
    }
  }
  return drawn;
}

/// The mean logarithm of the time of each on `problems`, as far as the time goes; how many problems that was.
std::pair<std::vector<double>, std::size_t> mean_logs(Evaluator& evaluator,
                                                      const std::vector<Configuration>& candidates,
                                                      const std::vector<Problem>& problems, const StopCondition& stop) {
  std::vector<double> logs(candidates.size(), 0.0);
  std::size_t done = 0;
  for (const Problem& problem : problems) {
    if (stop.reached()) break;
    compile(evaluator, candidates, problem);
    const Configuration usual = evaluator.family().default_configuration(evaluator.device(), problem);
    compile(evaluator, {usual}, problem);
    const auto times = interleave(evaluator, candidates, problem, choose_samples(evaluator, usual, problem), kRounds);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      logs[i] += std::log(times[i].empty() ? kFailed : median(times[i]));
    }
    ++done;
  }
  for (double& log : logs) log /= static_cast<double>(std::max<std::size_t>(done, 1));
  return {std::move(logs), done};
}

}  // namespace

FixedMapping best_fixed(Evaluator& evaluator, const std::vector<Problem>& problems, std::size_t most,
                        const StopCondition& stop) {
  constexpr std::size_t kSecondRound = 8;
  const SearchSpace space = evaluator.family().space(evaluator.device());
  const std::vector<Configuration> first = draw(allowed_everywhere(space, problems), most);
  FixedMapping result{.configuration = {}, .candidates = first.size(), .problems = 0};
  if (first.empty()) return result;
  // On the smallest, a middle and the largest problem first.
  const auto early =
      mean_logs(evaluator, first, {problems.front(), problems[problems.size() / 2], problems.back()}, stop);
  std::vector<std::size_t> order(first.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return early.first[i]; });
  std::vector<Configuration> second;
  for (std::size_t i = 0; i < std::min(kSecondRound, order.size()); ++i) second.push_back(first[order[i]]);
  const auto [logs, all] = mean_logs(evaluator, second, problems, stop);
  if (early.second == 0 || all == 0) return result;
  result.configuration = second[static_cast<std::size_t>(std::ranges::min_element(logs) - logs.begin())];
  result.problems = all;
  return result;
}

}  // namespace heddle::bench
