// Fuzzy numbers of the usual shapes, cut at given levels. Compiled at run time too.
//
// Cut i of a number with membership function mu is that of level[i]: { x : mu(x) >= level[i] }, rounded outwards.
// Levels are numbers from 0 to 1 that do not fall; at level 0 the cut is the support. Sizes are taken as exact numbers
// of T.
#pragma once

#include "heddle/kernels/fuzzy/midpoint_radius.hpp"

namespace heddle::fuzzy {

/// Level i of `cuts` levels from 0 to 1 in equal steps: 0, 1/3, 2/3, 1. A single cut is that of level 0, the support.
/// Where a double cannot hold the level it is the one below, since the cut of a lower level contains that of a higher.
HEDDLE_EITHER double even_level(int i, int cuts) {
  return cuts == 1 ? 0.0 : divide_down(static_cast<double>(i), static_cast<double>(cuts - 1));
}

namespace detail {

template <class T, int cuts>
HEDDLE_EITHER LowerUpper<T, cuts> in_form(const LowerUpper<T, cuts>& number, Form<LowerUpper<T, cuts>>) {
  return number;
}
template <class T, int cuts>
HEDDLE_EITHER MidpointRadius<T, cuts> in_form(const LowerUpper<T, cuts>& number, Form<MidpointRadius<T, cuts>>) {
  return to_midpoint_radius(number).number;
}

/// `from` + part * (to - from), rounded downwards, for from <= to and a part from 0 to 1.
template <class T>
HEDDLE_EITHER T way_down(T from, T to, double part) {
  return add_down(from, multiply_down(narrowed_down<T>(part), subtract_down(to, from)));
}
/// The same from above: `from` - part * (from - to), rounded upwards, for from >= to.
template <class T>
HEDDLE_EITHER T way_up(T from, T to, double part) {
  return subtract_up(from, multiply_down(narrowed_down<T>(part), subtract_down(from, to)));
}

}  // namespace detail

/// Rises from a to b, is 1 from b to c, and falls from c to d; a <= b <= c <= d. In midpoint-radius form it is enclosed
/// around the middle of b and c.
template <class Number, class T = typename Number::Real>
HEDDLE_EITHER Number trapezoidal(T a, T b, T c, T d, const double* level) {
  LowerUpper<T, Number::count> number;
  for (int i = 0; i < Number::count; ++i) {
    number.set(i, closed(detail::way_down(a, b, level[i]), detail::way_up(d, c, level[i])));
  }
  return detail::in_form(number, detail::Form<Number>());
}

/// Rises from a to b, and falls from b to c; a <= b <= c.
template <class Number, class T = typename Number::Real>
HEDDLE_EITHER Number triangular(T a, T b, T c, const double* level) {
  return trapezoidal<Number>(a, b, b, c, level);
}

/// exp(-(x - mean)^2 / (2 deviation^2)), deviation >= 0. Its support is the whole line, so it is cut off at the level
/// `least` > 0: cuts of lower levels are that one.
template <class Number, class T = typename Number::Real>
HEDDLE_EITHER Number gaussian(T mean, T deviation, const double* level, double least = 0.01) {
  LowerUpper<T, Number::count> number;
  for (int i = 0; i < Number::count; ++i) {
    const double at = smaller(1.0, larger(level[i], least));
    const double half = root_up(larger(0.0, -2.0 * log_of(at).lower));
    const T away = multiply_up(deviation, narrowed_up<T>(half));
    number.set(i, closed(subtract_down(mean, away), add_up(mean, away)));
  }
  return detail::in_form(number, detail::Form<Number>());
}

/// A corner of a membership function.
template <class T>
struct Corner {
  T x;
  double membership;
};

/// Linear between its corners, of which there are at least two. x does not fall; the membership rises from 0 to 1 and
/// falls to 0 again.
template <class Number, class T = typename Number::Real>
HEDDLE_EITHER Number piecewise_linear(const Corner<T>* corner, int corners, const double* level) {
  LowerUpper<T, Number::count> number;
  for (int i = 0; i < Number::count; ++i) {
    int left = 0, right = corners - 1;
    while (left < corners - 1 && corner[left].membership < level[i]) ++left;
    while (right > 0 && corner[right].membership < level[i]) --right;
    // The part of the way to the corner that reaches the level, which is never overstated.
    T lower = corner[left].x, upper = corner[right].x;
    if (left > 0 && corner[left].membership > level[i]) {
      const Corner<T> below = corner[left - 1];
      lower = detail::way_down(below.x, corner[left].x,
                               divide_down(subtract_down(level[i], below.membership),
                                           subtract_up(corner[left].membership, below.membership)));
    }
    if (right < corners - 1 && corner[right].membership > level[i]) {
      const Corner<T> below = corner[right + 1];
      upper = detail::way_up(below.x, corner[right].x,
                             divide_down(subtract_down(level[i], below.membership),
                                         subtract_up(corner[right].membership, below.membership)));
    }
    // At level 0 the support: the first and the last corner that the membership leaves 0 at.
    if (level[i] <= 0.0) {
      int first = 0, last = corners - 1;
      while (first + 1 < corners && corner[first + 1].membership <= 0.0) ++first;
      while (last > 0 && corner[last - 1].membership <= 0.0) --last;
      lower = corner[first].x;
      upper = corner[last].x;
    }
    number.set(i, closed(lower, upper));
  }
  return detail::in_form(number, detail::Form<Number>());
}

}  // namespace heddle::fuzzy
