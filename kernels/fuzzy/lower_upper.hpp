// Fuzzy numbers by the bounds of their cuts. Compiled at run time too.
#pragma once

#include "heddle/kernels/fuzzy/interval.hpp"

namespace heddle::fuzzy {

/// A fuzzy number with `cuts` alpha-cuts, [lower[i], upper[i]]. Cut 0 is that of the lowest level, the widest; every
/// cut lies within the one before. 2 cuts numbers. What the levels are the program knows, see levels.hpp.
///
/// An operation on numbers gives, cut by cut, an interval that contains every result for arguments from the cuts, the
/// extension principle for monotone arguments (Nguyen, J. Math. Anal. Appl. 64, 1978). See Interval for what has no
/// bounds. No operation throws or asks for the rounding mode.
template <class T, int cuts>
struct LowerUpper {
  static_assert(cuts >= 1, "a fuzzy number has at least one cut");
  using Real = T;
  static constexpr int count = cuts;

  T lower[cuts];
  T upper[cuts];

  [[nodiscard]] HEDDLE_EITHER Interval<T> cut(int i) const { return {lower[i], upper[i]}; }
  /// The cut once more, for questions of containment, where the two differ in a number of other form.
  [[nodiscard]] HEDDLE_EITHER Interval<T> inner_cut(int i) const { return cut(i); }
  HEDDLE_EITHER void set(int i, const Interval<T>& interval) {
    lower[i] = interval.lower;
    upper[i] = interval.upper;
  }

  /// The number whose cuts are all the same interval: a real number that is known so well.
  [[nodiscard]] static HEDDLE_EITHER LowerUpper constant(T low, T high) {
    LowerUpper result;
    HEDDLE_UNROLL
    for (int i = 0; i < cuts; ++i) result.set(i, {low, high});
    return result;
  }
  [[nodiscard]] static HEDDLE_EITHER LowerUpper crisp(T value) { return constant(value, value); }
};

#define HEDDLE_CUT_BY_CUT(FUNCTION, EXPRESSION)                                                            \
  template <class T, int cuts>                                                                             \
  HEDDLE_EITHER LowerUpper<T, cuts> FUNCTION(const LowerUpper<T, cuts>& a, const LowerUpper<T, cuts>& b) { \
    LowerUpper<T, cuts> result;                                                                            \
    HEDDLE_UNROLL                                                                                          \
    for (int i = 0; i < cuts; ++i) {                                                                       \
      const Interval<T> x = a.cut(i), y = b.cut(i);                                                        \
      result.set(i, EXPRESSION);                                                                           \
    }                                                                                                      \
    return result;                                                                                         \
  }
HEDDLE_CUT_BY_CUT(operator+, x + y)
HEDDLE_CUT_BY_CUT(operator-, x - y)
HEDDLE_CUT_BY_CUT(operator*, x* y)
HEDDLE_CUT_BY_CUT(operator/, x / y)
HEDDLE_CUT_BY_CUT(min, min(x, y))
HEDDLE_CUT_BY_CUT(max, max(x, y))
#undef HEDDLE_CUT_BY_CUT

// A real number of type T on either side.
#define HEDDLE_WITH_SCALAR(OPERATOR)                                                                               \
  template <class T, int cuts>                                                                                     \
  HEDDLE_EITHER LowerUpper<T, cuts> OPERATOR(const LowerUpper<T, cuts>& a, typename LowerUpper<T, cuts>::Real b) { \
    return OPERATOR(a, LowerUpper<T, cuts>::crisp(b));                                                             \
  }                                                                                                                \
  template <class T, int cuts>                                                                                     \
  HEDDLE_EITHER LowerUpper<T, cuts> OPERATOR(typename LowerUpper<T, cuts>::Real a, const LowerUpper<T, cuts>& b) { \
    return OPERATOR(LowerUpper<T, cuts>::crisp(a), b);                                                             \
  }
HEDDLE_WITH_SCALAR(operator+)
HEDDLE_WITH_SCALAR(operator-)
HEDDLE_WITH_SCALAR(operator*)
HEDDLE_WITH_SCALAR(operator/)
HEDDLE_WITH_SCALAR(min)
HEDDLE_WITH_SCALAR(max)
#undef HEDDLE_WITH_SCALAR

template <class T, int cuts>
HEDDLE_EITHER LowerUpper<T, cuts> operator-(const LowerUpper<T, cuts>& a) {
  LowerUpper<T, cuts> result;
  HEDDLE_UNROLL
  for (int i = 0; i < cuts; ++i) result.set(i, -a.cut(i));
  return result;
}
namespace detail {

/// What `inner` and `outer` have in common, where both contain something that lies in both.
template <class T>
HEDDLE_EITHER Interval<T> common(const Interval<T>& inner, const Interval<T>& outer) {
  return {larger(inner.lower, outer.lower), smaller(inner.upper, outer.upper)};
}

}  // namespace detail

// A cut whose bounds end up outside of the cut before is made smaller, since the exact cut lies within both. That
// happens because the bounds of exponentials and logarithms are not monotone in the last places, and where a cut is
// left without anything in the domain of a restricted root.
template <class T, int cuts>
HEDDLE_EITHER LowerUpper<T, cuts> sqrt(const LowerUpper<T, cuts>& a, Domain domain = Domain::strict) {
  LowerUpper<T, cuts> result;
  result.set(0, sqrt(a.cut(0), domain));
  HEDDLE_UNROLL
  for (int i = 1; i < cuts; ++i) result.set(i, detail::common(sqrt(a.cut(i), domain), result.cut(i - 1)));
  return result;
}
template <class T, int cuts>
HEDDLE_EITHER LowerUpper<T, cuts> exp(const LowerUpper<T, cuts>& a) {
  LowerUpper<T, cuts> result;
  result.set(0, exp(a.cut(0)));
  HEDDLE_UNROLL
  for (int i = 1; i < cuts; ++i) result.set(i, detail::common(exp(a.cut(i)), result.cut(i - 1)));
  return result;
}
template <class T, int cuts>
HEDDLE_EITHER LowerUpper<T, cuts> log(const LowerUpper<T, cuts>& a) {
  LowerUpper<T, cuts> result;
  result.set(0, log(a.cut(0)));
  HEDDLE_UNROLL
  for (int i = 1; i < cuts; ++i) result.set(i, detail::common(log(a.cut(i)), result.cut(i - 1)));
  return result;
}
template <class T, int cuts>
HEDDLE_EITHER LowerUpper<T, cuts> pow(const LowerUpper<T, cuts>& a, int n) {
  LowerUpper<T, cuts> result;
  HEDDLE_UNROLL
  for (int i = 0; i < cuts; ++i) result.set(i, pow(a.cut(i), n));
  return result;
}

}  // namespace heddle::fuzzy
