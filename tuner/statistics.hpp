// Statistics of repeated times that a few outliers do not disturb.
#pragma once

#include <span>

namespace heddle {

/// The mean of the middle two if there is an even number of values. At least one value.
[[nodiscard]] double median(std::span<const double> values);
/// Half the distance between the quartiles (linear interpolation). At least one value.
[[nodiscard]] double half_interquartile_range(std::span<const double> values);
/// Whether `slower` is slower than `faster` beyond noise, where value i of both was taken in the same round: the
/// medians differ by more than 1 percent, and either so many rounds agree that chance alone would do it in less than
/// one of a hundred cases (two-sided sign test), or the lower quartile of one is above the upper quartile of the other,
/// which a few disturbed rounds cannot hide.
[[nodiscard]] bool clearly_slower(std::span<const double> slower, std::span<const double> faster);

}  // namespace heddle
