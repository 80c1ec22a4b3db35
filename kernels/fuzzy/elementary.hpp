// Bounds of e^x and of the natural logarithm, for host and device code alike. Compiled at run time too: no header of
// the language's library is included.
//
// Vendors do not promise the error of their functions, so these are heddle's own: argument reduction and a polynomial
// in double, with an error bound that is derived here. In float the functions are evaluated in double, and the bounds
// rounded outwards: nearly always the tightest ones.
//
// u = 2^-53. All operations are rounded to nearest unless their name says otherwise.
//
// exp. k = round(x / ln 2), r = x - k ln 2, so |r| <= 0.3466 (and 1e-9, as 1 / ln 2 is rounded); e^x = 2^k e^r.
//   - ln 2 = high + low. `high` has 36 digits and |k| < 2^11, so k * high is exact; it lies within a factor of 2 of x,
//   so
//     x - k * high is exact, too (Sterbenz). `low` is below 2^-39 and rounded to u, so k * low is off by less than
//     2^-81. r is off by 0.25 u from its own rounding: 0.26 u in all, which changes e^r by 0.26 u of itself.
//   - The Taylor polynomial of degree 13 leaves out |r|^14 / 14! * 1.5 <= 6.3e-18, 0.06 u, of e^r >= 0.707: 0.08 u.
//   - Horner's rule with fused operations: step i is off by u |p_i|, and |p_i| <= 1.42; what it is off by is multiplied
//     by |r| from step to step. Together at most 1.42 u / (1 - 0.35) = 2.19 u of 0.707, so 3.1 u; the rounding of the
//     coefficients from 1/6 on adds 0.02 u.
//   In all 3.5 u, less than the 4 u = 2^-51 by which the bounds are apart from the result.
//
// log. x = 2^k m with 1/sqrt 2 <= m < sqrt 2, f = m - 1 exactly (Sterbenz), s = f / (2 + f), |s| <= 0.1716;
//   log m = 2 s + s^3 P(s^2), the series of 2 artanh s.
//   - The series up to s^25 leaves out 2 s^27 / 27 / (1 - s^2), less than 1e-19 of 2 s.
//   - s is off by 2 u (2 + f, and the quotient), s^2 by 5 u. P(s^2) is off by less than 9 u of itself; s^3 P(s^2) is
//   less
//     than 0.0101 of 2 s, so that all but the last step is off by less than 0.2 u of the result. With s and the last
//     step: 3.3 u of log m.
//   - k = 0: that is all. Otherwise the result is k * high (exact, as above) + (k * low + log m), where |log m| <=
//   0.3466
//     and the result is at least 0.3465: 3.3 u + 0.8 u from the inner sum + 1 u from the outer one.
//   In all 5.1 u, less than the 8 u = 2^-50 by which the bounds are apart from the result.
#pragma once

#include "heddle/kernels/fuzzy/rounding.hpp"

namespace heddle::fuzzy {

/// A value, rounded to nearest or so, and bounds of it.
template <class T>
struct Enclosed {
  T lower, near, upper;
};

namespace detail {

constexpr double kLn2High = 0x1.62e42fefap-1;  // ln 2 with 36 digits
constexpr double kLn2Low = 0x1.cf79abc9e3b3ap-40;

HEDDLE_EITHER double whole(double x) {
  constexpr double shift = 0x1.8p52;  // adding it rounds to whole numbers
  return subtract_near(add_near(x, shift), shift);
}

/// 2^k for -1022 <= k <= 1023.
HEDDLE_EITHER double power_of_two(int k) { return double_of(static_cast<unsigned long long>(k + 1023) << 52U); }

/// e^x, all rounded to nearest but the last steps. Also right for infinities.
HEDDLE_EITHER Enclosed<double> exp_bounds(double x) {
  if (x != x) return {x, x, x};
  if (x > 710.0) return {Traits<double>::largest, Traits<double>::infinity, Traits<double>::infinity};
  if (x < -746.0) return {0.0, 0.0, x < -Traits<double>::largest ? 0.0 : Traits<double>::smallest};
  const double k = whole(multiply_near(x, 0x1.71547652b82fep+0));
  const double r = fused_near(-k, kLn2Low, fused_near(-k, kLn2High, x));
  // 1 / i!
  double p = 1.0 / 6227020800.0;
  p = fused_near(p, r, 1.0 / 479001600.0);
  p = fused_near(p, r, 1.0 / 39916800.0);
  p = fused_near(p, r, 1.0 / 3628800.0);
  p = fused_near(p, r, 1.0 / 362880.0);
  p = fused_near(p, r, 1.0 / 40320.0);
  p = fused_near(p, r, 1.0 / 5040.0);
  p = fused_near(p, r, 1.0 / 720.0);
  p = fused_near(p, r, 1.0 / 120.0);
  p = fused_near(p, r, 1.0 / 24.0);
  p = fused_near(p, r, 1.0 / 6.0);
  p = fused_near(p, r, 0.5);
  p = fused_near(p, r, 1.0);
  p = fused_near(p, r, 1.0);
  // Half of 2^k twice, since 2^k itself may be too large or too small.
  const int all = static_cast<int>(k), half = all / 2;
  const double first = power_of_two(half), second = power_of_two(all - half);
  const double lower = multiply_down(multiply_down(multiply_down(p, 1.0 - 0x1p-51), first), second);
  const double near = multiply_near(multiply_near(p, first), second);
  const double upper = multiply_up(multiply_up(multiply_up(p, 1.0 + 0x1p-51), first), second);
  // On either side of 0 the value is on one side of 1.
  return {x >= 0.0 && lower < 1.0 ? 1.0 : lower, near, x <= 0.0 && upper > 1.0 ? 1.0 : upper};
}

/// ln x for x > 0. Also right for infinity.
HEDDLE_EITHER Enclosed<double> log_bounds(double x) {
  if (!(x <= Traits<double>::largest)) return {Traits<double>::largest, x, x};
  int k = 0;
  if (x < 0x1p-1022) {
    x = multiply_near(x, 0x1p54);
    k = -54;
  }
  const unsigned long long bits = bits_of(x);
  // The exponent, one more if the fraction is that of sqrt 2 or above.
  const int more = (bits & 0xfffffffffffffULL) >= 0x6a09e667f3bcdULL ? 1 : 0;
  const int exponent = static_cast<int>(bits >> 52U) - 1023 + more;
  const double m = double_of((bits & 0xfffffffffffffULL) | (static_cast<unsigned long long>(1023 - more) << 52U));
  k += exponent;
  const double f = subtract_near(m, 1.0);
  const double s = divide_near(f, add_near(2.0, f));
  const double z = multiply_near(s, s);
  double p = 2.0 / 25.0;
  p = fused_near(p, z, 2.0 / 23.0);
  p = fused_near(p, z, 2.0 / 21.0);
  p = fused_near(p, z, 2.0 / 19.0);
  p = fused_near(p, z, 2.0 / 17.0);
  p = fused_near(p, z, 2.0 / 15.0);
  p = fused_near(p, z, 2.0 / 13.0);
  p = fused_near(p, z, 2.0 / 11.0);
  p = fused_near(p, z, 2.0 / 9.0);
  p = fused_near(p, z, 2.0 / 7.0);
  p = fused_near(p, z, 2.0 / 5.0);
  p = fused_near(p, z, 2.0 / 3.0);
  const double log_m = fused_near(multiply_near(s, z), p, multiply_near(2.0, s));
  const double near =
      k == 0 ? log_m : fused_near(static_cast<double>(k), kLn2High, fused_near(static_cast<double>(k), kLn2Low, log_m));
  const double lower = near < 0.0 ? 1.0 + 0x1p-50 : 1.0 - 0x1p-50, upper = near < 0.0 ? 1.0 - 0x1p-50 : 1.0 + 0x1p-50;
  return {multiply_down(near, lower), near, multiply_up(near, upper)};
}

template <class T>
HEDDLE_EITHER Enclosed<T> narrowed(const Enclosed<double>& wide) {
  return {narrowed_down<T>(wide.lower), static_cast<T>(wide.near), narrowed_up<T>(wide.upper)};
}

}  // namespace detail

/// e^x. The lower bound is never infinite; the upper one is where the value is above the largest number.
template <class T>
HEDDLE_EITHER Enclosed<T> exp_of(T x) {
  return detail::narrowed<T>(detail::exp_bounds(static_cast<double>(x)));
}
/// The natural logarithm of x > 0.
template <class T>
HEDDLE_EITHER Enclosed<T> log_of(T x) {
  return detail::narrowed<T>(detail::log_bounds(static_cast<double>(x)));
}

}  // namespace heddle::fuzzy
