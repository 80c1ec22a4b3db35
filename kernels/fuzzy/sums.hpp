// Sums and dot products of many fuzzy numbers, in an order that depends on their count alone: every kernel on every
// device, and the host, gives the same bits, but for the sign of a zero. Compiled at run time too.
//
// The order. Terms are taken in blocks of 2048. Within a block, chain l (0 to 31) adds up the terms l, l + 32, l + 64,
// ..., one after the other. The 32 sums are added pairwise: chain l and l + 16, then l and l + 8, 4, 2, 1. The results
// of the blocks are numbers again. A sum or dot product adds them up in the same way, in blocks of 2048, until one is
// left; a matrix-vector product adds those of a row one after the other.
//
// A GPU gives a chain to each lane of a warp, so that 32 neighbours are read at a time. On its way into the result a
// term meets at most 64 + 5 roundings in each level, however many terms there are.
//
// Within a block bounds that overflow stay as they are: they remain infinite in every further sum, and closed_sum() at
// the end of the block makes of them what an operator makes at every step.
#pragma once

#include "heddle/kernels/fuzzy/midpoint_radius.hpp"

namespace heddle::fuzzy {

constexpr int kChains = 32, kChainTerms = 64, kBlockTerms = kChains * kChainTerms;

/// How many blocks `terms` terms are.
HEDDLE_EITHER long long blocks_of(long long terms) { return (terms + kBlockTerms - 1) / kBlockTerms; }

/// Where a sum begins.
template <class T, int cuts>
HEDDLE_EITHER void clear(LowerUpper<T, cuts>& sum) {
  sum = LowerUpper<T, cuts>::crisp(T(0));
}
template <class T, int cuts>
HEDDLE_EITHER void clear(MidpointRadius<T, cuts>& sum) {
  sum = MidpointRadius<T, cuts>::crisp(T(0));
}

/// sum <- sum + x. Adding to the number 0, or adding it, is exact.
template <class T, int cuts>
HEDDLE_EITHER void add_term(LowerUpper<T, cuts>& sum, const LowerUpper<T, cuts>& x) {
  HEDDLE_UNROLL
  for (int i = 0; i < cuts; ++i) {
    sum.lower[i] = add_down(sum.lower[i], x.lower[i]);
    sum.upper[i] = add_up(sum.upper[i], x.upper[i]);
  }
}
template <class T, int cuts>
HEDDLE_EITHER void add_term(MidpointRadius<T, cuts>& sum, const MidpointRadius<T, cuts>& x) {
  const bool exact = sum.midpoint == T(0) || x.midpoint == T(0);
  sum.midpoint = add_near(sum.midpoint, x.midpoint);
  const T size = exact ? T(0) : magnitude(sum.midpoint);
  HEDDLE_UNROLL
  for (int i = 0; i < cuts; ++i) {
    sum.radius[i] = add_up(fused_up(Traits<T>::half_unit, size, sum.radius[i]), x.radius[i]);
  }
}

namespace detail {

/// Bounds of a b + c, each rounded once; infinite where they overflow.
template <class T>
HEDDLE_EITHER Interval<T> fused_bounds(const Interval<T>& a, const Interval<T>& b, const Interval<T>& c) {
  // The smallest product plus c, rounded downwards, is the smallest of the sums: rounding keeps their order.
  const T lower =
      smaller_product(smaller_product(fused_down(a.lower, b.lower, c.lower), fused_down(a.lower, b.upper, c.lower)),
                      smaller_product(fused_down(a.upper, b.lower, c.lower), fused_down(a.upper, b.upper, c.lower)));
  const T upper =
      larger_product(larger_product(fused_up(a.lower, b.lower, c.upper), fused_up(a.lower, b.upper, c.upper)),
                     larger_product(fused_up(a.upper, b.lower, c.upper), fused_up(a.upper, b.upper, c.upper)));
  // All four are no number: 0 times the whole line.
  return lower != lower ? c : Interval<T>{lower, upper};
}

}  // namespace detail

/// sum <- sum + a x, rounded once.
template <class T, int cuts>
HEDDLE_EITHER void add_product(LowerUpper<T, cuts>& sum, const LowerUpper<T, cuts>& a, const LowerUpper<T, cuts>& x) {
  HEDDLE_UNROLL
  for (int i = 0; i < cuts; ++i) {
    const Interval<T> bounds = detail::fused_bounds(a.cut(i), x.cut(i), sum.cut(i));
    sum.lower[i] = bounds.lower;
    sum.upper[i] = bounds.upper;
  }
}
template <class T, int cuts>
HEDDLE_EITHER void add_product(MidpointRadius<T, cuts>& sum, const MidpointRadius<T, cuts>& a,
                               const MidpointRadius<T, cuts>& x) {
  sum.midpoint = fused_near(a.midpoint, x.midpoint, sum.midpoint);
  const T rounding = fused_up(Traits<T>::half_unit, magnitude(sum.midpoint), Traits<T>::smallest);
  const T size_a = magnitude(a.midpoint), size_x = magnitude(x.midpoint);
  HEDDLE_UNROLL
  for (int i = 0; i < cuts; ++i) {
    sum.radius[i] = detail::fused_radius(size_a, a.radius[i], size_x, x.radius[i], add_up(sum.radius[i], rounding));
  }
}

/// Whether all components of a sum are numbers.
template <class T, int cuts>
HEDDLE_EITHER bool has_numbers(const LowerUpper<T, cuts>& sum) {
  bool numbers = true;
  HEDDLE_UNROLL
  for (int i = 0; i < cuts; ++i) {
    numbers = numbers && sum.lower[i] == sum.lower[i] && sum.upper[i] == sum.upper[i];
  }
  return numbers;
}
template <class T, int cuts>
HEDDLE_EITHER bool has_numbers(const MidpointRadius<T, cuts>& sum) {
  bool numbers = sum.midpoint == sum.midpoint;
  HEDDLE_UNROLL
  for (int i = 0; i < cuts; ++i) numbers = numbers && sum.radius[i] == sum.radius[i];
  return numbers;
}

/// The same as add_product() if afterwards has_numbers(sum). It does not treat 0 times infinity as 0: such a product is
/// no number, makes `sum` none, and that stays so in all further steps. The caller then does the block once more with
/// add_product().
///
/// Which bound of x belongs to which of the sum depends on the sign of the real number a. The first `products` cuts
/// have a product for either sign, of which one is done; the others select a bound. The results are the same, but a GPU
/// selects with other units than those that multiply: it issues both products, and keeps one.
template <int products = 0, class T, int cuts>
HEDDLE_EITHER void add_usual_product(LowerUpper<T, cuts>& sum, T a, const LowerUpper<T, cuts>& x) {
  const bool negative = detail::is_negative(a);
  // Selections come first: after products CUDA's compiler takes two instructions more to look at the sign.
  HEDDLE_UNROLL
  for (int i = products; i < cuts; ++i) {
    sum.lower[i] = fused_down(a, negative ? x.upper[i] : x.lower[i], sum.lower[i]);
    sum.upper[i] = fused_up(a, negative ? x.lower[i] : x.upper[i], sum.upper[i]);
  }
  HEDDLE_UNROLL
  for (int i = 0; i < products; ++i) {
    if (!negative) sum.lower[i] = fused_down(a, x.lower[i], sum.lower[i]);
    if (negative) sum.lower[i] = fused_down(a, x.upper[i], sum.lower[i]);
    if (!negative) sum.upper[i] = fused_up(a, x.upper[i], sum.upper[i]);
    if (negative) sum.upper[i] = fused_up(a, x.lower[i], sum.upper[i]);
  }
}
template <int products = 0, class T, int cuts>
HEDDLE_EITHER void add_usual_product(MidpointRadius<T, cuts>& sum, T a, const MidpointRadius<T, cuts>& x) {
  sum.midpoint = fused_near(a, x.midpoint, sum.midpoint);
  const T size = magnitude(a), error = fused_up(Traits<T>::half_unit, magnitude(sum.midpoint), Traits<T>::smallest);
  const T rounding = size > T(0) ? error : T(0);
  HEDDLE_UNROLL
  for (int i = 0; i < cuts; ++i) sum.radius[i] = fused_up(size, x.radius[i], add_up(sum.radius[i], rounding));
}
/// The same for numbers.
template <class T, int cuts>
HEDDLE_EITHER void add_usual_product(LowerUpper<T, cuts>& sum, const LowerUpper<T, cuts>& a,
                                     const LowerUpper<T, cuts>& x) {
  add_product(sum, a, x);
}
template <class T, int cuts>
HEDDLE_EITHER void add_usual_product(MidpointRadius<T, cuts>& sum, const MidpointRadius<T, cuts>& a,
                                     const MidpointRadius<T, cuts>& x) {
  sum.midpoint = fused_near(a.midpoint, x.midpoint, sum.midpoint);
  const T rounding = fused_up(Traits<T>::half_unit, magnitude(sum.midpoint), Traits<T>::smallest);
  const T size_a = magnitude(a.midpoint), size_x = magnitude(x.midpoint);
  HEDDLE_UNROLL
  for (int i = 0; i < cuts; ++i) {
    sum.radius[i] = detail::usual_radius(size_a, a.radius[i], size_x, x.radius[i], add_up(sum.radius[i], rounding));
  }
}

/// sum <- sum + a x for a real number a, rounded once. An a of 0 changes nothing, since 0 times the whole line is 0.
template <class Number>
HEDDLE_EITHER void add_product(Number& sum, typename Number::Real a, const Number& x) {
  if (a != typename Number::Real(0)) add_usual_product(sum, a, x);
}

/// The number that a sum is.
template <class T, int cuts>
HEDDLE_EITHER LowerUpper<T, cuts> closed_sum(const LowerUpper<T, cuts>& sum) {
  LowerUpper<T, cuts> number;
  HEDDLE_UNROLL
  for (int i = 0; i < cuts; ++i) number.set(i, closed(sum.lower[i], sum.upper[i]));
  return number;
}
template <class T, int cuts>
HEDDLE_EITHER MidpointRadius<T, cuts> closed_sum(const MidpointRadius<T, cuts>& sum) {
  return detail::is_midpoint(sum.midpoint) ? sum : MidpointRadius<T, cuts>::whole();
}

/// The sum of a block of `terms` terms on a CPU: `add(sum, i)` adds term i.
template <class Number, class Add>
HEDDLE_EITHER Number sum_of_block(int terms, const Add& add) {
  Number chain[kChains];
  for (Number& sum : chain) clear(sum);
  for (int i = 0; i < terms; ++i) add(chain[i % kChains], i);
  for (int apart = kChains / 2; apart > 0; apart /= 2) {
    for (int l = 0; l < apart; ++l) add_term(chain[l], chain[l + apart]);
  }
  return closed_sum(chain[0]);
}

}  // namespace heddle::fuzzy
