// One cut: a closed interval whose bounds are rounded outwards. Compiled at run time too.
#pragma once

#include "heddle/kernels/fuzzy/elementary.hpp"

namespace heddle::fuzzy {

/// All numbers from `lower` to `upper`. Infinite bounds are those of the whole line alone, once an operation has made
/// it: what overflows, divides by an interval with 0 or leaves the domain of its function is the whole line.
template <class T>
struct Interval {
  T lower, upper;
};

/// What a function does with arguments outside its domain.
enum class Domain {
  strict,     ///< the result is the whole line
  restricted  ///< they are left out: the root of [-1, 4] is that of [0, 4]; the whole line if none is left, or the
              ///< result of the cut before
};

template <class T>
HEDDLE_EITHER Interval<T> whole_line() {
  return {-Traits<T>::infinity, Traits<T>::infinity};
}

/// The interval with these bounds; the whole line if one of them is infinite or no number.
template <class T>
HEDDLE_EITHER Interval<T> closed(T lower, T upper) {
  return lower > -Traits<T>::infinity && upper < Traits<T>::infinity ? Interval<T>{lower, upper} : whole_line<T>();
}

template <class T>
HEDDLE_EITHER T smaller(T a, T b) {
  return b < a ? b : a;
}
template <class T>
HEDDLE_EITHER T larger(T a, T b) {
  return a < b ? b : a;
}

template <class T>
HEDDLE_EITHER bool contains(const Interval<T>& outer, const Interval<T>& inner) {
  return outer.lower <= inner.lower && inner.upper <= outer.upper;
}
template <class T>
HEDDLE_EITHER bool contains(const Interval<T>& interval, T value) {
  return interval.lower <= value && value <= interval.upper;
}

template <class T>
HEDDLE_EITHER Interval<T> operator-(const Interval<T>& a) {
  return {-a.upper, -a.lower};
}
template <class T>
HEDDLE_EITHER Interval<T> operator+(const Interval<T>& a, const Interval<T>& b) {
  return closed(add_down(a.lower, b.lower), add_up(a.upper, b.upper));
}
template <class T>
HEDDLE_EITHER Interval<T> operator-(const Interval<T>& a, const Interval<T>& b) {
  return closed(subtract_down(a.lower, b.upper), subtract_up(a.upper, b.lower));
}

namespace detail {

/// Stands for the type `Number` where overloads are chosen by it.
template <class Number>
struct Form {};

/// The smaller one; the other if one is no number. 0 times infinity is 0 in a product of bounds. Where it occurs, the
/// factor that is 0 meets the other bound as well, unless the other factor is the whole line.
template <class T>
HEDDLE_EITHER T smaller_product(T a, T b) {
  return a < b || b != b ? a : b;
}
template <class T>
HEDDLE_EITHER T larger_product(T a, T b) {
  return a > b || b != b ? a : b;
}

}  // namespace detail

template <class T>
HEDDLE_EITHER Interval<T> operator*(const Interval<T>& a, const Interval<T>& b) {
  using detail::larger_product;
  using detail::smaller_product;
  const T lower = smaller_product(smaller_product(multiply_down(a.lower, b.lower), multiply_down(a.lower, b.upper)),
                                  smaller_product(multiply_down(a.upper, b.lower), multiply_down(a.upper, b.upper)));
  const T upper = larger_product(larger_product(multiply_up(a.lower, b.lower), multiply_up(a.lower, b.upper)),
                                 larger_product(multiply_up(a.upper, b.lower), multiply_up(a.upper, b.upper)));
  // All four are no number: 0 times the whole line.
  if (lower != lower) return {T(0), T(0)};
  return closed(lower, upper);
}

template <class T>
HEDDLE_EITHER Interval<T> operator/(const Interval<T>& dividend, const Interval<T>& divisor) {
  const bool negative = divisor.upper < T(0);
  if (!(divisor.lower > T(0) || negative)) return whole_line<T>();
  const Interval<T> a = negative ? -dividend : dividend, b = negative ? -divisor : divisor;
  return closed(divide_down(a.lower, a.lower < T(0) ? b.lower : b.upper),
                divide_up(a.upper, a.upper < T(0) ? b.upper : b.lower));
}

template <class T>
HEDDLE_EITHER Interval<T> min(const Interval<T>& a, const Interval<T>& b) {
  return closed(smaller(a.lower, b.lower), smaller(a.upper, b.upper));
}
template <class T>
HEDDLE_EITHER Interval<T> max(const Interval<T>& a, const Interval<T>& b) {
  return closed(larger(a.lower, b.lower), larger(a.upper, b.upper));
}

template <class T>
HEDDLE_EITHER Interval<T> sqrt(Interval<T> a, Domain domain = Domain::strict) {
  if (domain == Domain::restricted && a.lower < T(0) && a.upper >= T(0)) a.lower = T(0);
  if (!(a.lower >= T(0))) return whole_line<T>();
  return closed(root_down(a.lower), root_up(a.upper));
}

template <class T>
HEDDLE_EITHER Interval<T> exp(const Interval<T>& a) {
  return closed(exp_of(a.lower).lower, exp_of(a.upper).upper);
}

/// Of an interval that reaches 0 the logarithm has no lower bound: the whole line, restricted or not.
template <class T>
HEDDLE_EITHER Interval<T> log(const Interval<T>& a) {
  if (!(a.lower > T(0))) return whole_line<T>();
  return closed(log_of(a.lower).lower, log_of(a.upper).upper);
}

namespace detail {

/// x^n for x >= 0, by squaring; all factors are rounded the same way, so the result is.
template <class T>
HEDDLE_EITHER T power_down(T x, unsigned n) {
  T result(1);
  for (; n != 0; n >>= 1U) {
    if ((n & 1U) != 0) result = multiply_down(result, x);
    if (n > 1) x = multiply_down(x, x);
  }
  return result;
}
template <class T>
HEDDLE_EITHER T power_up(T x, unsigned n) {
  T result(1);
  for (; n != 0; n >>= 1U) {
    if ((n & 1U) != 0) result = multiply_up(result, x);
    if (n > 1) x = multiply_up(x, x);
  }
  return result;
}
/// Bounds of a^n for n >= 0, each of them right; infinite where they overflow.
template <class T>
HEDDLE_EITHER Interval<T> power_bounds(const Interval<T>& a, unsigned n) {
  if (n == 0) return {T(1), T(1)};
  if (a.lower >= T(0)) return {power_down(a.lower, n), power_up(a.upper, n)};
  const bool even = n % 2 == 0;
  if (a.upper <= T(0)) {
    const T far = power_up(-a.lower, n), near = power_down(-a.upper, n);
    return even ? Interval<T>{near, far} : Interval<T>{-far, -near};
  }
  const T below = power_up(-a.lower, n), above = power_up(a.upper, n);
  return even ? Interval<T>{T(0), larger(below, above)} : Interval<T>{-below, above};
}

}  // namespace detail

/// a^n; 1 for n = 0, whatever a is.
template <class T>
HEDDLE_EITHER Interval<T> pow(const Interval<T>& a, int n) {
  if (n < 0) return Interval<T>{T(1), T(1)} / detail::power_bounds(a, 0U - static_cast<unsigned>(n));
  const Interval<T> bounds = detail::power_bounds(a, static_cast<unsigned>(n));
  return closed(bounds.lower, bounds.upper);
}

}  // namespace heddle::fuzzy
