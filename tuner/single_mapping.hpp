// The best single mapping: what one configuration for all problems would lose against the winner of each.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "heddle/kernels/kernel_family.hpp"
#include "heddle/profiles/measurement.hpp"

namespace heddle {

/// Costs in the screening at each problem, by canonical text of the configuration; microseconds per unit.
using CostsOfProblems = std::map<Problem, std::map<std::string, double>>;

/// Those of `measurements`. Measurements of finals are left out: they are medians, and screenings fastest repetitions.
[[nodiscard]] CostsOfProblems screened_costs(const std::vector<Measurement>& measurements);

/// The cost that a model of times expects, microseconds per unit; nothing where it expects none in particular. Empty if
/// there is no model.
using ExpectedCost = std::function<std::optional<double>(const Configuration&, const Problem&)>;

struct SingleMapping {
  std::string configuration;    ///< canonical text
  double mean_log_ratio = 0.0;  ///< mean of log(its time / time of the winner) over `tried` problems
  std::size_t measured = 0;     ///< problems at which it was measured
  std::size_t expected = 0;     ///< problems that allow it and did not try it, where a model expects its time
  std::size_t tried = 0;        ///< all of these, and those that do not allow it: the default stands in for it there
  std::size_t problems = 0;     ///< that have a winner
};

/// The configuration with the lowest mean ratio, among those that were measured, or are expected, at half of the
/// problems or more. Where a problem does not allow it, the untuned default stands in for it. Where it was not tried,
/// the ratio is that of what the model expects of it and of the winner; without a model such problems are left out. A
/// search leaves out what promises little and stops measuring what is slow, so what is measured is a lower bound of
/// what the mapping would lose at all problems.
///
/// `winners`: profiles of one family and device. `costs`: of these. Nothing if there are fewer than two winners, or if
/// nothing is known at enough problems.
[[nodiscard]] std::optional<SingleMapping> best_single_mapping(const KernelFamily& family, const DeviceIdentity& device,
                                                               const std::vector<Profile>& winners,
                                                               const CostsOfProblems& costs, const ExpectedCost& model);

/// A configuration that is likely to be the best single mapping.
struct LikelyMapping {
  Configuration configuration;
  /// The problems that allow it and did not try it: first one for each of its kernels that was not measured anywhere,
  /// which can then be compiled side by side, then those that need no further ones.
  std::vector<Problem> untried;
  std::size_t kernels = 0;  ///< those that were not measured anywhere
};

/// Of the winners and the untuned defaults, the one with the lowest expected mean ratio, among those that half of the
/// problems allow. Where it was not tried, the model says what to expect; where that says nothing, it is assumed to
/// lose what it loses elsewhere. Nothing under the conditions of best_single_mapping().
[[nodiscard]] std::optional<LikelyMapping> likely_single_mapping(const KernelFamily& family,
                                                                 const DeviceIdentity& device,
                                                                 const std::vector<Profile>& winners,
                                                                 const CostsOfProblems& costs,
                                                                 const ExpectedCost& model);

}  // namespace heddle
