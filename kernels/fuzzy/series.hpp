// The series c = a c + b, many times: the compute-bound kernel by which arithmetic on fuzzy numbers is measured. For
// host and device code alike; compiled at run time too.
//
// The results are those of the number types, bit by bit but for the sign of a zero, at a fraction of their operations:
//
// Bounds. With p = lower and q = -upper both bounds of c are rounded downwards. Let 0 <= low <= high be the magnitudes
// of a's bounds. For a >= 0 a step is p <- D(D(f p) + b.lower), q <- D(D(f q) - b.upper), where the factor f is `low`
// if the bound it meets is at least 0, else `high`: the smallest of the four products. For a <= 0 the product of
// p becomes the new q, and that of q the new p. Following a value rather than a role gives two independent chains of
// the same form, whose addends alternate. Overflow ends at -infinity and stays there: that is the whole line.
//
// A step with a fixed factor is a monotone function of the value. So is a pair of steps, hence every second value of a
// chain rises all the time, or falls all the time. If the first and the last of them have the same sign, so have all
// between. A run of steps therefore takes the factors of its first two values, and two signs at its end tell whether
// they were right all the time: two operations a bound and step. A run that fails is done again with a choice in every
// step.
//
// Midpoint and radii: 3 operations and 4 for each cut. What is no number, and a midpoint that overflows, stays so to
// the end, and only then the series is done again by the number types.
#pragma once

#include "heddle/kernels/fuzzy/midpoint_radius.hpp"

namespace heddle::fuzzy {

/// The definition.
template <class Number>
HEDDLE_EITHER Number plain_series(const Number& a, const Number& b, Number c, int terms) {
#if defined(__CUDACC__)
#pragma unroll 1
#endif
  for (int i = 0; i < terms; ++i) c = a * c + b;
  return c;
}

namespace detail {

template <class T>
HEDDLE_EITHER T chain_step(T x, T factor, T addend) {
  return add_down(multiply_down(factor, x), addend);
}

/// The chains of some cuts: 2 i and 2 i + 1 are those of cut i.
template <class T, int cuts>
struct Chains {
  static constexpr int chains = 2 * cuts;

  T x[chains];
  T low[cuts], high[cuts];
  T odd[chains], even[chains];  ///< addends of the first, third, ... and of the second, fourth, ... step

  HEDDLE_EITHER void step(bool is_odd) {
    HEDDLE_UNROLL
    for (int k = 0; k < chains; ++k) {
      x[k] = chain_step(x[k], is_negative(x[k]) ? high[k / 2] : low[k / 2], is_odd ? odd[k] : even[k]);
    }
  }
  /// `pairs` of steps, at least one, each chain with one factor in odd steps and one in even ones.
  HEDDLE_EITHER void run(int pairs) {
    T before[chains], factor[chains], factor_between[chains];
    bool between_is_negative[chains];
    HEDDLE_UNROLL
    for (int k = 0; k < chains; ++k) {
      before[k] = x[k];
      factor[k] = is_negative(x[k]) ? high[k / 2] : low[k / 2];
      const T between = chain_step(x[k], factor[k], odd[k]);
      between_is_negative[k] = is_negative(between);
      factor_between[k] = between_is_negative[k] ? high[k / 2] : low[k / 2];
      x[k] = chain_step(between, factor_between[k], even[k]);
    }
#if defined(__CUDACC__)
#pragma unroll(cuts <= 2 ? 8 : 4)
#endif
    for (int pair = 2; pair < pairs; ++pair) {
      HEDDLE_UNROLL
      for (int k = 0; k < chains; ++k) {
        x[k] = chain_step(chain_step(x[k], factor[k], odd[k]), factor_between[k], even[k]);
      }
    }
    if (pairs == 1) return;
    bool fails = false;
    HEDDLE_UNROLL
    for (int k = 0; k < chains; ++k) {
      const T between = chain_step(x[k], factor[k], odd[k]);
      fails = fails || is_negative(x[k]) != is_negative(before[k]) || is_negative(between) != between_is_negative[k];
      x[k] = chain_step(between, factor_between[k], even[k]);
    }
    if (!fails) return;
    HEDDLE_UNROLL
    for (int k = 0; k < chains; ++k) x[k] = before[k];
#if defined(__CUDACC__)
#pragma unroll 1
#endif
    for (int pair = 0; pair < pairs; ++pair) {
      step(true);
      step(false);
    }
  }
  /// Signs change in the first steps, if at all. These have a choice each. A run that fails costs its steps once more,
  /// for all lanes of a warp if one fails, and every run costs the looks at its ends: so runs begin short, and each is
  /// twice as long as the one before.
  HEDDLE_EITHER void steps(int terms) {
    constexpr int chosen_pairs = 8, first_run = 8, longest_run = 256;
    int left = terms / 2;
#if defined(__CUDACC__)
#pragma unroll 1
#endif
    for (int pair = 0; pair < chosen_pairs && left > 0; ++pair, --left) {
      step(true);
      step(false);
    }
#if defined(__CUDACC__)
#pragma unroll 1
#endif
    for (int most = first_run; left > 0; most = most < longest_run ? 2 * most : longest_run) {
      const int pairs = left < most ? left : most;
      run(pairs);
      left -= pairs;
    }
    if (terms % 2 != 0) step(true);
  }
};

template <class T>
HEDDLE_EITHER bool is_finite(const Interval<T>& a) {
  return a.lower > -Traits<T>::infinity && a.upper < Traits<T>::infinity;
}

/// For a with numbers of both signs: of the four products two are candidates for either bound.
template <class T>
HEDDLE_EITHER Interval<T> mixed_series(const Interval<T>& a, const Interval<T>& b, Interval<T> c, int terms) {
#if defined(__CUDACC__)
#pragma unroll 1
#endif
  for (int i = 0; i < terms; ++i) {
    const T lower = smaller(multiply_down(a.lower, c.upper), multiply_down(a.upper, c.lower));
    const T upper = larger(multiply_up(a.lower, c.lower), multiply_up(a.upper, c.upper));
    c.lower = add_down(lower, b.lower);
    c.upper = add_up(upper, b.upper);
  }
  return closed(c.lower, c.upper);
}

}  // namespace detail

template <class T, int cuts>
HEDDLE_EITHER LowerUpper<T, cuts> series(const LowerUpper<T, cuts>& a, const LowerUpper<T, cuts>& b,
                                         const LowerUpper<T, cuts>& c, int terms) {
  detail::Chains<T, cuts> chains;
  bool usual = true;
  HEDDLE_UNROLL
  for (int i = 0; i < cuts; ++i) {
    const bool negative = a.upper[i] <= T(0);
    usual = usual && (negative || a.lower[i] >= T(0)) && detail::is_finite(a.cut(i)) && detail::is_finite(b.cut(i)) &&
            detail::is_finite(c.cut(i));
    chains.low[i] = negative ? -a.upper[i] : a.lower[i];
    chains.high[i] = negative ? -a.lower[i] : a.upper[i];
    chains.x[2 * i] = c.lower[i];
    chains.x[2 * i + 1] = -c.upper[i];
    chains.even[2 * i] = b.lower[i];
    chains.even[2 * i + 1] = -b.upper[i];
    chains.odd[2 * i] = negative ? -b.upper[i] : b.lower[i];
    chains.odd[2 * i + 1] = negative ? b.lower[i] : -b.upper[i];
  }
  LowerUpper<T, cuts> result;
  if (usual) {
    chains.steps(terms);
    HEDDLE_UNROLL
    for (int i = 0; i < cuts; ++i) {
      const bool exchanged = a.upper[i] <= T(0) && terms % 2 != 0;
      const T p = chains.x[2 * i], q = chains.x[2 * i + 1];
      result.set(i, exchanged ? closed(q, -p) : closed(p, -q));
    }
    return result;
  }
  HEDDLE_UNROLL
  for (int i = 0; i < cuts; ++i) {
    const Interval<T> factor = a.cut(i), addend = b.cut(i), start = c.cut(i);
    const bool finite = detail::is_finite(factor) && detail::is_finite(addend) && detail::is_finite(start);
    result.set(i, finite && factor.lower < T(0) && factor.upper > T(0)
                      ? detail::mixed_series(factor, addend, start, terms)
                      : plain_series(factor, addend, start, terms));
  }
  return result;
}

template <class T, int cuts>
HEDDLE_EITHER MidpointRadius<T, cuts> series(const MidpointRadius<T, cuts>& a, const MidpointRadius<T, cuts>& b,
                                             const MidpointRadius<T, cuts>& c, int terms) {
  MidpointRadius<T, cuts> result = c;
  T farthest[cuts];
  HEDDLE_UNROLL
  for (int i = 0; i < cuts; ++i) farthest[i] = add_up(magnitude(a.midpoint), a.radius[i]);
#if defined(__CUDACC__)
#pragma unroll(cuts <= 4 ? 8 : 4)
#endif
  for (int term = 0; term < terms; ++term) {
    const T size = magnitude(result.midpoint), product = multiply_near(a.midpoint, result.midpoint);
    const T rounding = fused_up(Traits<T>::half_unit, magnitude(product), Traits<T>::smallest);
    result.midpoint = add_near(product, b.midpoint);
    const T size_of_sum = magnitude(result.midpoint);
    HEDDLE_UNROLL
    for (int i = 0; i < cuts; ++i) {
      const T radius = fused_up(a.radius[i], size, fused_up(farthest[i], result.radius[i], rounding));
      result.radius[i] = add_up(fused_up(Traits<T>::half_unit, size_of_sum, radius), b.radius[i]);
    }
  }
  bool sound = detail::is_midpoint(result.midpoint);
  HEDDLE_UNROLL
  for (int i = 0; i < cuts; ++i) sound = sound && result.radius[i] == result.radius[i];
  return sound ? result : plain_series(a, b, c, terms);
}

}  // namespace heddle::fuzzy
