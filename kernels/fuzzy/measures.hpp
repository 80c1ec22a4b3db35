// Real numbers that stand for a fuzzy one, or tell two apart: defuzzification, ranking, distance. Compiled at run time
// too.
//
// `level[i]` is the level of cut i. Between two levels the bounds of the cuts are taken as linear, so that the results
// are exact, but for rounding to nearest, where membership functions are linear between the levels. Below the lowest
// and above the highest level the bounds stay what they are there. Results are ordinary double numbers, rounded to
// nearest: no bounds of anything. A number with a cut that is the whole line has none of these: infinite, or no number.
//
// `Number`: a LowerUpper, a MidpointRadius, or anything with `count` cuts, cut(i) and a type Real.
#pragma once

#include "heddle/kernels/fuzzy/midpoint_radius.hpp"

namespace heddle::fuzzy {

namespace detail {

/// The sum over all pieces of the levels from 0 to 1 of piece(lower cut, upper cut, height).
template <class Number, class Piece>
HEDDLE_EITHER double over_levels(const Number& number, const double* level, const Piece& piece) {
  const int top = number.count - 1;
  double sum = piece(number.cut(0), number.cut(0), level[0]);
  for (int i = 0; i < top; ++i) sum += piece(number.cut(i), number.cut(i + 1), level[i + 1] - level[i]);
  return sum + piece(number.cut(top), number.cut(top), 1.0 - level[top]);
}

}  // namespace detail

/// The cut of level `at`: that of the highest level[i] that is not above it, which encloses it. The whole line below
/// the lowest level.
template <class Number>
HEDDLE_EITHER Interval<typename Number::Real> alpha_cut(const Number& number, const double* level, double at) {
  Interval<typename Number::Real> result = whole_line<typename Number::Real>();
  for (int i = 0; i < number.count && level[i] <= at; ++i) result = number.cut(i);
  return result;
}

/// The integral of the lower and that of the upper bounds over the levels (Dubois and Prade, "The mean value of a fuzzy
/// number", Fuzzy Sets and Systems 24, 1987; Heilpern 1992).
template <class Number>
HEDDLE_EITHER Interval<double> expected_interval(const Number& number, const double* level) {
  using Cut = Interval<typename Number::Real>;
  return {detail::over_levels(number, level,
                              [](const Cut& low, const Cut& high, double height) {
                                return height * (0.5 * low.lower + 0.5 * high.lower);
                              }),
          detail::over_levels(number, level, [](const Cut& low, const Cut& high, double height) {
            return height * (0.5 * low.upper + 0.5 * high.upper);
          })};
}

/// The centre of gravity of the area under the membership function, the integral of x mu(x) over that of mu(x). Over
/// the levels: the integral of (upper^2 - lower^2) / 2 over that of upper - lower. The middle of a number without area.
template <class Number>
HEDDLE_EITHER double centroid(const Number& number, const double* level) {
  using Cut = Interval<typename Number::Real>;
  // Away from the middle of the highest cut, so that little is lost where the number is narrow and far from 0.
  const Cut top = number.cut(number.count - 1);
  const double middle = 0.5 * top.lower + 0.5 * top.upper;
  const auto mean_square = [middle](double from, double to) {
    const double a = from - middle, b = to - middle;
    return (a * a + a * b + b * b) / 3.0;
  };
  const double moment = detail::over_levels(number, level, [&](const Cut& low, const Cut& high, double height) {
    return 0.5 * height * (mean_square(low.upper, high.upper) - mean_square(low.lower, high.lower));
  });
  const Interval<double> expected = expected_interval(number, level);
  const double area = expected.upper - expected.lower;
  return area == 0.0 ? middle : middle + moment / area;
}

/// The middle of the values whose membership is the highest.
template <class Number>
HEDDLE_EITHER double mean_of_maxima(const Number& number) {
  const Interval<typename Number::Real> top = number.cut(number.count - 1);
  return 0.5 * top.lower + 0.5 * top.upper;
}

/// By this value numbers are ranked: the total integral value of Liou and Wang (Fuzzy Sets and Systems 50, 1992), from
/// the lower (optimism 0) to the upper end (1) of the expected interval. Its middle is Yager's index (Information
/// Sciences 24, 1981).
template <class Number>
HEDDLE_EITHER double ranking_value(const Number& number, const double* level, double optimism = 0.5) {
  const Interval<double> expected = expected_interval(number, level);
  return (1.0 - optimism) * expected.lower + optimism * expected.upper;
}

/// The root of the integral over the levels of (lower - lower')^2 + (upper - upper')^2 (Diamond, "Fuzzy least squares",
/// Information Sciences 46, 1988; Grzegorzewski 1998).
template <class Number, class Other>
HEDDLE_EITHER double distance(const Number& a, const Other& b, const double* level) {
  static_assert(Number::count == Other::count, "numbers of the same cuts");
  LowerUpper<double, Number::count> difference;
  for (int i = 0; i < Number::count; ++i) {
    const auto x = a.cut(i);
    const auto y = b.cut(i);
    difference.lower[i] = static_cast<double>(x.lower) - y.lower;
    difference.upper[i] = static_cast<double>(x.upper) - y.upper;
  }
  const auto squares = [](double from, double to) { return (from * from + from * to + to * to) / 3.0; };
  return root_near(detail::over_levels(
      difference, level, [&](const Interval<double>& low, const Interval<double>& high, double height) {
        return height * (squares(low.lower, high.lower) + squares(low.upper, high.upper));
      }));
}

}  // namespace heddle::fuzzy
