// Fuzzy numbers whose cuts have one midpoint. Compiled at run time too.
#pragma once

#include "heddle/kernels/fuzzy/lower_upper.hpp"

namespace heddle::fuzzy {

/// A fuzzy number with `cuts` alpha-cuts, [midpoint - radius[i], midpoint + radius[i]]: 1 + cuts numbers. Cut 0 is that
/// of the lowest level; radii do not grow from one cut to the next. A cut whose radius is infinite is the whole line,
/// whatever the midpoint. Midpoints are finite: where the midpoint of a result would not be, it is 0 and all radii are
/// infinite.
///
/// Results are those of LowerUpper, enclosed in cuts around one midpoint: the formulas are those of midpoint-radius
/// arithmetic (Rump, BIT 39, 1999), with e the relative error of rounding and h the smallest number above 0.
template <class T, int cuts>
struct MidpointRadius {
  static_assert(cuts >= 1, "a fuzzy number has at least one cut");
  using Real = T;
  static constexpr int count = cuts;

  T midpoint;
  T radius[cuts];

  /// The bounds of a cut, rounded outwards.
  [[nodiscard]] HEDDLE_EITHER Interval<T> cut(int i) const {
    return closed(subtract_down(midpoint, radius[i]), add_up(midpoint, radius[i]));
  }
  /// The smallest and the largest number of type T in a cut.
  [[nodiscard]] HEDDLE_EITHER Interval<T> inner_cut(int i) const {
    return {subtract_up(midpoint, radius[i]), add_down(midpoint, radius[i])};
  }

  [[nodiscard]] static HEDDLE_EITHER MidpointRadius whole() {
    MidpointRadius result;
    result.midpoint = T(0);
    HEDDLE_UNROLL
    for (int i = 0; i < cuts; ++i) result.radius[i] = Traits<T>::infinity;
    return result;
  }
  /// The number whose cuts are all the same interval: a real number that is known so well.
  [[nodiscard]] static HEDDLE_EITHER MidpointRadius constant(T low, T high) {
    MidpointRadius result;
    result.midpoint = low == high ? low : add_near(multiply_near(low, T(0.5)), multiply_near(high, T(0.5)));
    const T radius_of_all = larger(subtract_up(high, result.midpoint), subtract_up(result.midpoint, low));
    HEDDLE_UNROLL
    for (int i = 0; i < cuts; ++i) result.radius[i] = radius_of_all;
    return result;
  }
  [[nodiscard]] static HEDDLE_EITHER MidpointRadius crisp(T value) {
    MidpointRadius result;
    result.midpoint = value;
    HEDDLE_UNROLL
    for (int i = 0; i < cuts; ++i) result.radius[i] = T(0);
    return result;
  }
};

namespace detail {

/// Whether a result may have this midpoint.
template <class T>
HEDDLE_EITHER bool is_midpoint(T m) {
  return magnitude(m) < Traits<T>::infinity;
}

/// The least radius with which a cut around `m` contains the interval.
template <class T>
HEDDLE_EITHER T radius_around(T m, const Interval<T>& interval) {
  return larger(T(0), larger(subtract_up(interval.upper, m), subtract_up(m, interval.lower)));
}

/// The number around `m` whose cut i contains `interval_of(i)`. No cut is wider than the one before.
template <class T, int cuts, class IntervalOf>
HEDDLE_EITHER MidpointRadius<T, cuts> around(T m, const IntervalOf& interval_of) {
  if (!is_midpoint(m)) return MidpointRadius<T, cuts>::whole();
  MidpointRadius<T, cuts> result;
  result.midpoint = m;
  result.radius[0] = radius_around(m, interval_of(0));
  HEDDLE_UNROLL
  for (int i = 1; i < cuts; ++i) result.radius[i] = smaller(radius_around(m, interval_of(i)), result.radius[i - 1]);
  return result;
}

/// A factor of a radius: 0 times infinity is 0.
template <class T>
HEDDLE_EITHER T radius_product(T a, T b) {
  return a == T(0) || b == T(0) ? T(0) : multiply_up(a, b);
}

}  // namespace detail

template <class T, int cuts>
HEDDLE_EITHER MidpointRadius<T, cuts> operator-(const MidpointRadius<T, cuts>& a) {
  MidpointRadius<T, cuts> result = a;
  result.midpoint = -a.midpoint;
  return result;
}

/// m = N(a + b), r = U(e |m| + alpha + beta).
template <class T, int cuts>
HEDDLE_EITHER MidpointRadius<T, cuts> operator+(const MidpointRadius<T, cuts>& a, const MidpointRadius<T, cuts>& b) {
  MidpointRadius<T, cuts> result;
  result.midpoint = add_near(a.midpoint, b.midpoint);
  if (!detail::is_midpoint(result.midpoint)) return MidpointRadius<T, cuts>::whole();
  const T size = magnitude(result.midpoint);
  HEDDLE_UNROLL
  for (int i = 0; i < cuts; ++i) {
    result.radius[i] = add_up(fused_up(Traits<T>::half_unit, size, a.radius[i]), b.radius[i]);
  }
  return result;
}
template <class T, int cuts>
HEDDLE_EITHER MidpointRadius<T, cuts> operator-(const MidpointRadius<T, cuts>& a, const MidpointRadius<T, cuts>& b) {
  return a + (-b);
}

namespace detail {

/// U((|a| + alpha) beta + alpha |b| + more), what the radii of factors add to that of a product; no number where 0
/// meets infinity.
template <class T>
HEDDLE_EITHER T usual_radius(T size_a, T alpha, T size_b, T beta, T more) {
  return fused_up(alpha, size_b, fused_up(add_up(size_a, alpha), beta, more));
}
/// The same where 0 times infinity is 0.
template <class T>
HEDDLE_EITHER T fused_radius(T size_a, T alpha, T size_b, T beta, T more) {
  const T radius = usual_radius(size_a, alpha, size_b, beta, more);
  if (radius == radius) return radius;
  return add_up(add_up(more, radius_product(add_up(size_a, alpha), beta)), radius_product(alpha, size_b));
}

}  // namespace detail

/// m = N(a b), r = U(h + e |m| + (|a| + alpha) beta + alpha |b|).
template <class T, int cuts>
HEDDLE_EITHER MidpointRadius<T, cuts> operator*(const MidpointRadius<T, cuts>& a, const MidpointRadius<T, cuts>& b) {
  MidpointRadius<T, cuts> result;
  result.midpoint = multiply_near(a.midpoint, b.midpoint);
  if (!detail::is_midpoint(result.midpoint)) return MidpointRadius<T, cuts>::whole();
  const T rounding = fused_up(Traits<T>::half_unit, magnitude(result.midpoint), Traits<T>::smallest);
  const T size_a = magnitude(a.midpoint), size_b = magnitude(b.midpoint);
  HEDDLE_UNROLL
  for (int i = 0; i < cuts; ++i) {
    result.radius[i] = detail::fused_radius(size_a, a.radius[i], size_b, b.radius[i], rounding);
  }
  return result;
}

/// m = N(a / b), r = U((alpha + |m| beta + |b| (e |m| + h)) / D(|b| - beta)) where |b| > beta.
template <class T, int cuts>
HEDDLE_EITHER MidpointRadius<T, cuts> operator/(const MidpointRadius<T, cuts>& a, const MidpointRadius<T, cuts>& b) {
  MidpointRadius<T, cuts> result;
  result.midpoint = divide_near(a.midpoint, b.midpoint);
  if (!detail::is_midpoint(result.midpoint)) return MidpointRadius<T, cuts>::whole();
  const T size = magnitude(result.midpoint), size_b = magnitude(b.midpoint);
  const T rounding = multiply_up(size_b, fused_up(Traits<T>::half_unit, size, Traits<T>::smallest));
  HEDDLE_UNROLL
  for (int i = 0; i < cuts; ++i) {
    const T least = subtract_down(size_b, b.radius[i]);
    result.radius[i] = least > T(0) ? divide_up(add_up(fused_up(size, b.radius[i], rounding), a.radius[i]), least)
                                    : Traits<T>::infinity;
  }
  return result;
}

// A real number of type T on either side.
#define HEDDLE_WITH_SCALAR(OPERATOR)                                                         \
  template <class T, int cuts>                                                               \
  HEDDLE_EITHER MidpointRadius<T, cuts> OPERATOR(const MidpointRadius<T, cuts>& a,           \
                                                 typename MidpointRadius<T, cuts>::Real b) { \
    return OPERATOR(a, MidpointRadius<T, cuts>::crisp(b));                                   \
  }                                                                                          \
  template <class T, int cuts>                                                               \
  HEDDLE_EITHER MidpointRadius<T, cuts> OPERATOR(typename MidpointRadius<T, cuts>::Real a,   \
                                                 const MidpointRadius<T, cuts>& b) {         \
    return OPERATOR(MidpointRadius<T, cuts>::crisp(a), b);                                   \
  }

template <class T, int cuts>
HEDDLE_EITHER MidpointRadius<T, cuts> min(const MidpointRadius<T, cuts>& a, const MidpointRadius<T, cuts>& b) {
  return detail::around<T, cuts>(smaller(a.midpoint, b.midpoint), [&](int i) { return min(a.cut(i), b.cut(i)); });
}
template <class T, int cuts>
HEDDLE_EITHER MidpointRadius<T, cuts> max(const MidpointRadius<T, cuts>& a, const MidpointRadius<T, cuts>& b) {
  return detail::around<T, cuts>(larger(a.midpoint, b.midpoint), [&](int i) { return max(a.cut(i), b.cut(i)); });
}
HEDDLE_WITH_SCALAR(operator+)
HEDDLE_WITH_SCALAR(operator-)
HEDDLE_WITH_SCALAR(operator*)
HEDDLE_WITH_SCALAR(operator/)
HEDDLE_WITH_SCALAR(min)
HEDDLE_WITH_SCALAR(max)
#undef HEDDLE_WITH_SCALAR

template <class T, int cuts>
HEDDLE_EITHER MidpointRadius<T, cuts> sqrt(const MidpointRadius<T, cuts>& a, Domain domain = Domain::strict) {
  const T inside = domain == Domain::restricted && a.midpoint < T(0) ? T(0) : a.midpoint;
  return detail::around<T, cuts>(root_near(inside), [&](int i) { return sqrt(a.cut(i), domain); });
}
template <class T, int cuts>
HEDDLE_EITHER MidpointRadius<T, cuts> exp(const MidpointRadius<T, cuts>& a) {
  return detail::around<T, cuts>(exp_of(a.midpoint).near, [&](int i) { return exp(a.cut(i)); });
}
template <class T, int cuts>
HEDDLE_EITHER MidpointRadius<T, cuts> log(const MidpointRadius<T, cuts>& a) {
  if (!(a.midpoint > T(0))) return MidpointRadius<T, cuts>::whole();
  return detail::around<T, cuts>(log_of(a.midpoint).near, [&](int i) { return log(a.cut(i)); });
}
template <class T, int cuts>
HEDDLE_EITHER MidpointRadius<T, cuts> pow(const MidpointRadius<T, cuts>& a, int n) {
  const Interval<T> middle = pow(Interval<T>{a.midpoint, a.midpoint}, n);
  return detail::around<T, cuts>(middle.lower, [&](int i) { return pow(a.cut(i), n); });
}

/// The bounds of every cut.
template <class T, int cuts>
HEDDLE_EITHER LowerUpper<T, cuts> to_lower_upper(const MidpointRadius<T, cuts>& a) {
  LowerUpper<T, cuts> result;
  HEDDLE_UNROLL
  for (int i = 0; i < cuts; ++i) result.set(i, a.cut(i));
  return result;
}

/// A number in midpoint-radius form that encloses another one, and by how much its cuts are wider at most.
template <class T, int cuts>
struct Enclosure {
  MidpointRadius<T, cuts> number;
  T added[cuts];
};

/// Around the middle of the highest cut. Nothing is added where all cuts have that middle, but what rounding adds. A
/// cut that is the whole line stays it, with 0 added. If the highest cut is the whole line, all cuts are.
template <class T, int cuts>
HEDDLE_EITHER Enclosure<T, cuts> to_midpoint_radius(const LowerUpper<T, cuts>& a) {
  const Interval<T> top = a.cut(cuts - 1);
  Enclosure<T, cuts> result;
  result.number = detail::around<T, cuts>(
      top.lower == top.upper ? top.lower : add_near(multiply_near(top.lower, T(0.5)), multiply_near(top.upper, T(0.5))),
      [&](int i) { return a.cut(i); });
  HEDDLE_UNROLL
  for (int i = 0; i < cuts; ++i) {
    const Interval<T> before = a.cut(i), after = result.number.cut(i);
    result.added[i] = after.upper < Traits<T>::infinity
                          ? add_up(subtract_up(after.upper, before.upper), subtract_up(before.lower, after.lower))
                      : before.upper < Traits<T>::infinity ? Traits<T>::infinity
                                                           : T(0);
  }
  return result;
}

/// Whether every cut of `inner` lies within that of `outer`. Never true in error. The cuts of an `inner` in
/// midpoint-radius form are rounded outwards, so that the answer is no if less than a unit is missing.
template <class Outer, class Inner>
HEDDLE_EITHER bool contains_number(const Outer& outer, const Inner& inner) {
  static_assert(Outer::count == Inner::count, "numbers of the same cuts");
  for (int i = 0; i < Outer::count; ++i) {
    if (!contains(outer.inner_cut(i), inner.cut(i))) return false;
  }
  return true;
}
/// Whether `value` lies in cut i.
template <class Number>
HEDDLE_EITHER bool contains_value(const Number& number, int i, typename Number::Real value) {
  return contains(number.inner_cut(i), value);
}

}  // namespace heddle::fuzzy
