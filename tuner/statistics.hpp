// Statistics of repeated times that a few outliers do not disturb.
#pragma once

#include <span>

namespace heddle {

/// The mean of the middle two if there is an even number of values. At least one value.
[[nodiscard]] double median(std::span<const double> values);
/// Half the distance between the quartiles (linear interpolation). At least one value.
[[nodiscard]] double half_interquartile_range(std::span<const double> values);
/// Whether `slower` is slower than `faster` beyond noise, where value i of both was taken in the same round: the
/// medians differ by more than 1 percent, and chance alone would do one of these in less than one of a hundred cases:
/// so many rounds agree (two-sided sign test); all values of one are above all of the other (two-sided rank-sum test),
/// which five rounds are enough for; or the lower quartile of one is above the upper quartile of the other, which a few
/// disturbed rounds cannot hide.
[[nodiscard]] bool clearly_slower(std::span<const double> slower, std::span<const double> faster);
/// Whether more rounds would hardly make one of them clearly slower: there are enough for quartiles, and the upper one
/// of each is less than 1 percent above the lower one of the other.
[[nodiscard]] bool equally_fast(std::span<const double> one, std::span<const double> other);

}  // namespace heddle
