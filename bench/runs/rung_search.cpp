#include "heddle/bench/runs/rung_search.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "heddle/runtime/device/device_failure.hpp"
#include "heddle/tuner/tuner.hpp"

namespace heddle::bench {

namespace {

constexpr std::int64_t kFewestTried = 8;
constexpr int kSearches = 3;

Budget times(const Budget& budget, std::size_t count) {
  Budget all;
  if (budget.seconds) all.seconds = *budget.seconds * static_cast<double>(count);
  if (budget.evaluations) all.evaluations = *budget.evaluations * static_cast<std::int64_t>(count);
  return all;
}

/// Not if the compiler gave up, or is not there.
bool was_tried(const Measurement& measurement) {
  return measurement.status != Status::compilation || !is_compilers_failure(measurement.message);
}

/// The store has the measurements of all searches; the result of the last one counts its own alone.
std::int64_t configurations_tried(const Evaluator& evaluator, const ProfileStore& store, const Problem& problem) {
  const ProfileKey key{
      .device = evaluator.device(), .family = std::string(evaluator.family().name()), .problem = problem};
  std::set<std::string> tried;
  for (const Measurement& measurement : store.measurements(key)) {
    if (measurement.kernels == evaluator.kernels() && was_tried(measurement)) tried.insert(measurement.configuration);
  }
  return static_cast<std::int64_t>(tried.size());
}

SearchDepth depth(const Evaluator& evaluator, const ProfileStore& store, const SearchSpace& space,
                  const Problem& problem) {
  return {.problem = problem,
          .tried = configurations_tried(evaluator, store, problem),
          .allowed = static_cast<std::int64_t>(space.enumerate(problem).size())};
}

}  // namespace

bool SearchDepth::is_enough() const { return tried >= std::min(kFewestTried, allowed); }

SearchDepth search_rungs(Evaluator& evaluator, ProfileStore& store, const std::vector<Problem>& problems,
                         const Budget& for_each, std::uint64_t seed) {
  const SearchSpace space = evaluator.family().space(evaluator.device());
  std::vector<SearchDepth> depths;
  std::vector<Problem> left = problems;
  for (int i = 0; i < kSearches && !left.empty(); ++i) {
    StopCondition stop(times(for_each, left.size() << i));
    (void)Tuner(evaluator, store, {.seed = seed}).tune(left, stop);
    depths.clear();
    for (const Problem& problem : problems) depths.push_back(depth(evaluator, store, space, problem));
    left.clear();
    for (const SearchDepth& each : depths) {
      if (!each.is_enough()) left.push_back(each.problem);
    }
  }
  // First of all those that have too few: a space of three configurations that were all tried is no reason to complain.
  return *std::ranges::min_element(depths, {},
                                   [](const SearchDepth& each) { return std::pair(each.is_enough(), each.tried); });
}

}  // namespace heddle::bench
