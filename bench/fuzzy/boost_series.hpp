// The series c = a c + b with Boost.Interval, as a careful user writes it.
#pragma once

#include <cstdint>
#include <span>

namespace heddle::bench {

/// Replaces c by a c + b, `terms` times, for every interval: bounds next to each other, lower and upper. One thread.
/// The rounding mode is saved once for all, and operations are not protected on their own.
void boost_series(std::span<const double> a, std::span<const double> b, std::span<double> c, std::int64_t terms);

}  // namespace heddle::bench
