// Which configuration to try next. A new strategy is one short file under strategies/ and a line in strategy.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/profiles/status.hpp"
#include "heddle/tuner/space/candidate_space.hpp"

namespace heddle {

/// The outcome of one configuration, as far as a search needs it.
struct Observation {
  Status status = Status::launch;
  /// Microseconds per sample, to be minimised; nothing if it failed. Of a pruned configuration: a lower bound.
  std::optional<double> cost;
};

/// Configurations are named by their number in the space the strategy was made with. A strategy never proposes one that
/// it proposed or observed before. The same space, seed and observations give the same proposals.
class Strategy {
 public:
  virtual ~Strategy() = default;
  /// Up to `at_most` configurations that are worth trying whatever the others turn out to be. May be called before all
  /// earlier proposals were observed. Empty: none, or none before those are observed.
  [[nodiscard]] virtual std::vector<std::size_t> next(std::size_t at_most) = 0;
  /// Tells the outcome of one configuration, whether it was proposed or not.
  virtual void observe(std::size_t configuration, const Observation& observation) = 0;
};

/// The constants of the strategies whose choice was revised, see docs/design.md; bench/tuning/search_constants.cpp
/// compares their values.
struct SearchConstants {
  std::size_t design = 2;     ///< observations before the model decides: the middle, and others far from what is known
  double nearby = 0.3;        ///< share of the model's proposals that are neighbours of the fastest
  double gain_per_tie = 0.1;  ///< what the model wants to gain for each configuration that is as fast as the fastest
  double model_share = 0.94;  ///< of the portfolio's first turns
};

/// The task that a strategy is made for.
struct SearchTask {
  /// Must outlive the strategy.
  CandidateSpace& space;
  std::uint64_t seed = 1;
  /// Expected log(cost / cost of the fastest) of each configuration of a listed space, learnt from other problems;
  /// empty if nothing is known.
  std::vector<float> expected = {};
  SearchConstants constants = {};
};

struct StrategyEntry {
  std::string_view name;     ///< what --strategy takes
  std::string_view meaning;  ///< one line
  /// Throws Error(usage) if the strategy cannot search a space that is not listed.
  std::unique_ptr<Strategy> (*make)(const SearchTask& task);
};

/// Every strategy there is; the first is the default.
[[nodiscard]] const std::vector<StrategyEntry>& strategies();
/// Throws Error(usage) with the names there are.
[[nodiscard]] const StrategyEntry& strategy(std::string_view name);

}  // namespace heddle
