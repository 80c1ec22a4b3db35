#include "heddle/bench/step/fixed_mapping.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "heddle/bench/common/interleave.hpp"
#include "heddle/tuner/screening.hpp"
#include "heddle/tuner/space/listed_space.hpp"
#include "heddle/tuner/statistics.hpp"
#include "heddle/tuner/strategy.hpp"

namespace heddle::bench {

namespace {

constexpr int kRounds = 3;
constexpr std::size_t kAtOnce = 16;     // configurations of the search that are compiled and timed together
constexpr std::size_t kFinalists = 12;  // which are then timed on all problems
constexpr std::size_t kFew = 7;         // problems that the search looks at

/// What every problem allows.
std::vector<Configuration> allowed_everywhere(const SearchSpace& space, const std::vector<Problem>& problems) {
  std::vector<Configuration> allowed = space.enumerate(problems.front());
  for (const Problem& problem : problems) {
    std::erase_if(allowed, [&](const Configuration& one) { return space.violated(one, problem).has_value(); });
  }
  return allowed;
}

/// The smallest, the largest, and others evenly between.
std::vector<Problem> few_of(const std::vector<Problem>& problems) {
  if (problems.size() <= kFew) return problems;
  std::vector<Problem> few;
  for (std::size_t i = 0; i < kFew; ++i) few.push_back(problems[i * (problems.size() - 1) / (kFew - 1)]);
  return few;
}

/// The mean logarithm of the time of each on `problems`, infinite where it failed at one of them; on how many problems
/// that was before `stop`.
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
      logs[i] += times[i].empty() ? std::numeric_limits<double>::infinity() : std::log(median(times[i]));
    }
    ++done;
  }
  for (double& log : logs) log /= static_cast<double>(std::max<std::size_t>(done, 1));
  return {std::move(logs), done};
}

}  // namespace

FixedMapping best_fixed(Evaluator& evaluator, const std::vector<Problem>& problems, std::uint64_t seed,
                        const StopCondition& searching, const StopCondition& stop) {
  FixedMapping result;
  if (problems.empty()) return result;
  const std::vector<Configuration> all = allowed_everywhere(evaluator.family().space(evaluator.device()), problems);
  result.allowed = all.size();
  if (all.empty()) return result;

  const std::vector<Problem> few = few_of(problems);
  ListedSpace space(all);
  const auto strategy = strategies().front().make({.space = space, .seed = seed, .expected = {}, .constants = {}});
  std::vector<std::pair<double, std::size_t>> tried;  // mean logarithm, number
  while (!searching.reached() && !stop.reached()) {
    const std::vector<std::size_t> next = strategy->next(kAtOnce);
    if (next.empty()) break;
    std::vector<Configuration> batch;
    batch.reserve(next.size());
    for (const std::size_t number : next) batch.push_back(all[number]);
    const auto [logs, done] = mean_logs(evaluator, batch, few, stop);
    if (done < few.size()) break;
    for (std::size_t i = 0; i < next.size(); ++i) {
      const bool worked = std::isfinite(logs[i]);
      strategy->observe(next[i], {.status = worked ? Status::correct : Status::launch,
                                  .cost = worked ? std::optional(std::exp(logs[i])) : std::nullopt});
      if (worked) tried.emplace_back(logs[i], next[i]);
      ++result.candidates;
    }
  }
  std::ranges::sort(tried);
  std::vector<Configuration> finalists;
  for (std::size_t i = 0; i < std::min(kFinalists, tried.size()); ++i) finalists.push_back(all[tried[i].second]);
  if (finalists.empty()) return result;
  const auto [logs, done] = mean_logs(evaluator, finalists, problems, stop);
  const auto best = std::ranges::min_element(logs);
  if (done == 0 || !std::isfinite(*best)) return result;
  result.configuration = finalists[static_cast<std::size_t>(best - logs.begin())];
  result.problems = done;
  return result;
}

}  // namespace heddle::bench
