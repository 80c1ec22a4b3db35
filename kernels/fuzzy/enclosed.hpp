// Constants of formulas. For host and device code alike; compiled at run time too.
#pragma once

#include "heddle/kernels/fuzzy/midpoint_radius.hpp"

namespace heddle::fuzzy {

namespace detail {

template <class T, int cuts>
HEDDLE_EITHER LowerUpper<T, cuts> enclosed(T low, T high, Form<LowerUpper<T, cuts>>) {
  const Interval<T> interval = closed(low, high);
  return LowerUpper<T, cuts>::constant(interval.lower, interval.upper);
}
template <class T, int cuts>
HEDDLE_EITHER MidpointRadius<T, cuts> enclosed(T low, T high, Form<MidpointRadius<T, cuts>>) {
  return high < Traits<T>::infinity ? MidpointRadius<T, cuts>::constant(low, high) : MidpointRadius<T, cuts>::whole();
}

}  // namespace detail

/// The number whose cuts are all from `low` to `high`; the whole line where a type is too small for `high`.
template <class Number>
HEDDLE_EITHER Number enclosed(typename Number::Real low, typename Number::Real high) {
  return detail::enclosed(low, high, detail::Form<Number>());
}

}  // namespace heddle::fuzzy
