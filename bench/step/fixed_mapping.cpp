#include "heddle/bench/step/fixed_mapping.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "heddle/bench/common/interleave.hpp"
#include "heddle/tuner/screening.hpp"
#include "heddle/tuner/space/listed_space.hpp"
#include "heddle/tuner/statistics.hpp"
#include "heddle/tuner/strategy.hpp"

namespace heddle::bench {

namespace {

constexpr int kRounds = 3;
constexpr std::size_t kAtOnce = 16;    // configurations of the search that are compiled and timed together
constexpr std::size_t kFinalists = 8;  // which are then timed on all problems
constexpr std::size_t kFew = 5;        // problems that the search looks at

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

/// The mean over `problems` of the expected log(cost / cost of the fastest) of each; empty if nothing is expected.
std::vector<float> expected_logs(const Transfer* costs, const std::vector<Configuration>& configurations,
                                 const std::vector<Problem>& problems) {
  std::vector<float> means;
  if (costs == nullptr) return means;
  for (const Problem& problem : problems) {
    const std::vector<float> here = costs->expected(problem, configurations);
    if (here.empty()) return {};
    means.resize(here.size(), 0.0F);
    for (std::size_t i = 0; i < here.size(); ++i) means[i] += here[i] / static_cast<float>(problems.size());
  }
  return means;
}

/// The search on a few problems.
class Search {
 public:
  Search(Evaluator& evaluator, const std::vector<Configuration>& all, std::vector<Problem> few,
         const FixedKnowledge& known, std::uint64_t seed)
      : evaluator_(evaluator),
        all_(all),
        few_(std::move(few)),
        space_(all),
        strategy_(strategies().front().make(
            {.space = space_, .seed = seed, .expected = expected_logs(known.costs, all, few_), .constants = {}})) {
    for (const Configuration& winner : known.winners) {
      const auto found = space_.find(winner);
      if (found && std::ranges::find(first_, *found) == first_.end()) first_.push_back(*found);
    }
  }

  /// Tries some more. Returns whether there were any, and time for them.
  bool go_on(const StopCondition& stop) {
    const std::vector<std::size_t> next = first_.empty() ? strategy_->next(kAtOnce) : first_of_them();
    if (next.empty()) return false;
    std::vector<Configuration> batch;
    batch.reserve(next.size());
    for (const std::size_t number : next) batch.push_back(all_[number]);
    const auto [logs, done] = mean_logs(evaluator_, batch, few_, stop);
    if (done < few_.size()) return false;
    for (std::size_t i = 0; i < next.size(); ++i) {
      const bool worked = std::isfinite(logs[i]);
      strategy_->observe(next[i], {.status = worked ? Status::correct : Status::launch,
                                   .cost = worked ? std::optional(std::exp(logs[i])) : std::nullopt});
      if (worked) worked_.emplace_back(logs[i], next[i]);
      ++tried_;
    }
    return true;
  }

  [[nodiscard]] std::size_t tried() const { return tried_; }

  /// The fastest, `count` at most.
  [[nodiscard]] std::vector<Configuration> best(std::size_t count) {
    std::ranges::sort(worked_);
    std::vector<Configuration> fastest;
    for (std::size_t i = 0; i < std::min(count, worked_.size()); ++i) fastest.push_back(all_[worked_[i].second]);
    return fastest;
  }

 private:
  std::vector<std::size_t> first_of_them() {
    const auto end = first_.begin() + static_cast<std::ptrdiff_t>(std::min(kAtOnce, first_.size()));
    std::vector<std::size_t> some(first_.begin(), end);
    first_.erase(first_.begin(), end);
    return some;
  }

  Evaluator& evaluator_;
  const std::vector<Configuration>& all_;
  const std::vector<Problem> few_;
  ListedSpace space_;
  const std::unique_ptr<Strategy> strategy_;
  std::vector<std::size_t> first_;                      // winners that were not tried yet
  std::vector<std::pair<double, std::size_t>> worked_;  // mean logarithm, number
  std::size_t tried_ = 0;
};

}  // namespace

FixedMapping best_fixed(Evaluator& evaluator, const std::vector<Problem>& problems, const FixedKnowledge& known,
                        std::uint64_t seed, const StopCondition& searching, const StopCondition& stop) {
  FixedMapping result;
  if (problems.empty()) return result;
  const std::vector<Configuration> all = allowed_everywhere(evaluator.family().space(evaluator.device()), problems);
  result.allowed = all.size();
  if (all.empty()) return result;

  Search search(evaluator, all, few_of(problems), known, seed);
  const std::size_t enough = std::min(kFewestCandidates, all.size());
  while (!stop.reached() && (search.tried() < enough || !searching.reached())) {
    if (!search.go_on(stop)) break;
  }
  result.candidates = search.tried();
  const std::vector<Configuration> finalists = search.best(kFinalists);
  if (finalists.empty() || search.tried() < enough) return result;
  const auto [logs, done] = mean_logs(evaluator, finalists, problems, stop);
  const auto best = std::ranges::min_element(logs);
  if (done == 0 || !std::isfinite(*best)) return result;
  result.configuration = finalists[static_cast<std::size_t>(best - logs.begin())];
  result.problems = done;
  return result;
}

}  // namespace heddle::bench
