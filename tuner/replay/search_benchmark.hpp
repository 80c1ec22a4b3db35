// How good a strategy is: many searches of a recorded space, beside random search computed exactly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "heddle/tuner/replay/recorded_space.hpp"
#include "heddle/tuner/strategy.hpp"

namespace heddle {

/// The results of a number of evaluations, failing ones counted, over many seeds. A fraction is the space's shortest
/// time by the shortest found so far, 0 if nothing worked yet.
struct SearchScore {
  std::int64_t evaluations = 0;
  double median_fraction = 0.0;
  /// Of the fraction; nothing where many seeds were not run: random_search(), the baseline.
  std::optional<double> lower_quartile = {}, upper_quartile = {};
  double mean_fraction = 0.0;
  double within_5_percent = 0.0;  ///< share of the seeds whose best is at most 5 % slower than the space's
};

struct SearchBenchmark {
  std::vector<std::int64_t> marks{25, 50, 100, 200};  ///< ascending, each at least 1
  std::size_t seeds = 100;                            ///< 1, 2, ...
  SearchConstants constants = {};                     ///< that the strategies search with
  unsigned threads = 1;                               ///< searches at once; no influence on the result
  std::function<bool()> interrupted;                  ///< asked between searches; may be empty
};

/// One score per mark. `seconds`, if given: processor time that the strategy took per evaluation, measuring excluded.
/// Empty if interrupted.
[[nodiscard]] std::vector<SearchScore> benchmark(const RecordedSpace& space, const StrategyEntry& strategy,
                                                 const SearchBenchmark& options, double* seconds = nullptr);

/// Random search without replacement, over all orders there are: expectation of the fraction and of the share, and the
/// median of the fraction's distribution.
[[nodiscard]] SearchScore random_search(const RecordedSpace& space, std::int64_t evaluations);

}  // namespace heddle
