#include "heddle/tuner/replay/search_benchmark.hpp"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>

#include "heddle/tuner/space/listed_space.hpp"

namespace heddle {

namespace {

constexpr double kNear = 1.05;

struct Search {
  std::vector<double> fractions;  // at each mark
  double seconds = 0.0;
};

/// Of this thread.
double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

Search search(const RecordedSpace& space, CandidateSpace& candidates, double optimum, const StrategyEntry& entry,
              const SearchBenchmark& options, std::uint64_t seed) {
  const double start = processor_seconds();
  Search result;
  const auto strategy = entry.make({.space = candidates, .seed = seed, .expected = {}, .constants = options.constants});
  double best = std::numeric_limits<double>::infinity();
  std::int64_t evaluations = 0;
  for (const std::int64_t mark : options.marks) {
    for (; evaluations < mark; ++evaluations) {
      const std::vector<std::size_t> next = strategy->next(1);
      if (next.empty()) break;  // all of the space is known
      const RecordedOutcome& outcome = space.outcomes[next.front()];
      if (outcome.time) best = std::min(best, *outcome.time);
      strategy->observe(next.front(), {.status = outcome.status, .cost = outcome.time});
    }
    result.fractions.push_back(optimum / best);
  }
  result.seconds = (processor_seconds() - start) / static_cast<double>(std::max<std::int64_t>(1, evaluations));
  return result;
}

/// `sorted`: upwards. Between two values, the value in proportion.
double quantile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

std::vector<SearchScore> benchmark(const RecordedSpace& space, const StrategyEntry& strategy,
                                   const SearchBenchmark& options, double* seconds) {
  const double optimum = space.best();
  ListedSpace candidates(space.configurations);
  std::vector<Search> searches(options.seeds);
  std::atomic<std::size_t> next{0};
  std::atomic<bool> stopped{false};
  std::mutex mutex;
  std::exception_ptr error;
  const auto work = [&] {
    try {
      for (std::size_t i = next++; i < searches.size() && !stopped; i = next++) {
        searches[i] = search(space, candidates, optimum, strategy, options, i + 1);
        if (options.interrupted && options.interrupted()) stopped = true;
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      error = std::current_exception();
      stopped = true;
    }
  };
  {
    std::vector<std::jthread> others;
    for (unsigned i = 1; i < options.threads; ++i) others.emplace_back(work);
    work();
  }
  if (error) std::rethrow_exception(error);
  if (stopped) return {};

  std::vector<SearchScore> scores;
  for (std::size_t mark = 0; mark < options.marks.size(); ++mark) {
    SearchScore score{.evaluations = options.marks[mark]};
    std::vector<double> fractions;
    fractions.reserve(searches.size());
    for (const Search& each : searches) fractions.push_back(each.fractions[mark]);
    const auto count = static_cast<double>(fractions.size());
    for (const double fraction : fractions) {
      score.mean_fraction += fraction / count;
      if (fraction * kNear >= 1.0) score.within_5_percent += 1.0 / count;
    }
    std::sort(fractions.begin(), fractions.end());
    score.lower_quartile = quantile(fractions, 0.25);
    score.median_fraction = quantile(fractions, 0.5);
    score.upper_quartile = quantile(fractions, 0.75);
    scores.push_back(score);
  }
  if (seconds != nullptr) {
    *seconds = 0.0;
    for (const Search& each : searches) *seconds += each.seconds / static_cast<double>(searches.size());
  }
  return scores;
}

SearchScore random_search(const RecordedSpace& space, std::int64_t evaluations) {
  std::vector<double> fractions;
  const double optimum = space.best();
  for (const RecordedOutcome& outcome : space.outcomes)
    fractions.push_back(outcome.time ? optimum / *outcome.time : 0.0);
  std::sort(fractions.begin(), fractions.end(), std::greater<>());

  // The chance that none of the r fastest is among n of N drawn is C(N-r, n) / C(N, n): a product over r.
  const auto all = static_cast<double>(fractions.size());
  const double drawn = std::min(static_cast<double>(evaluations), all);
  SearchScore score{.evaluations = evaluations};
  double missed = 1.0;
  std::optional<double> middle;
  for (std::size_t rank = 0; rank < fractions.size() && missed > 0.0; ++rank) {
    const double left = all - static_cast<double>(rank);
    const double still = missed * std::max(0.0, left - drawn) / left;
    score.mean_fraction += (missed - still) * fractions[rank];
    if (fractions[rank] * kNear >= 1.0) score.within_5_percent += missed - still;
    missed = still;
    if (!middle && missed <= 0.5) middle = fractions[rank];
  }
  score.median_fraction = middle.value_or(0.0);
  return score;
}

}  // namespace heddle
