// The best single mapping: what one configuration for all problems would lose against the winner of each.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "heddle/kernels/kernel_family.hpp"
#include "heddle/profiles/measurement.hpp"

namespace heddle {

struct SingleMapping {
  std::string configuration;    ///< canonical text
  double mean_log_ratio = 0.0;  ///< mean of log(its time / time of the winner) over `tried` problems
  std::size_t tried = 0;        ///< problems at which it was measured, or at which the default stands in for it
  std::size_t problems = 0;     ///< that have a winner
};

/// The configuration with the lowest mean ratio, among those that were measured at half of the problems or more. Where
/// a problem does not allow it, the untuned default stands in for it. A search leaves out what promises little and
/// stops measuring what is slow, so the ratio is a lower bound of what the mapping would lose at all problems.
///
/// `winners`: profiles of one family and device. `measurements`: of these; screenings alone count, since finals are
/// medians and screenings fastest repetitions. Nothing if there are fewer than two winners, or if nothing was measured
/// at enough problems.
[[nodiscard]] std::optional<SingleMapping> best_single_mapping(const KernelFamily& family, const DeviceIdentity& device,
                                                               const std::vector<Profile>& winners,
                                                               const std::vector<Measurement>& measurements);

}  // namespace heddle
