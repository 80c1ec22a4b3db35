// Every operation of both encodings and both types against intervals of 200 bits: the cuts contain the exact results,
// and are not wider than the rounding of the steps explains.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

#include "exact_interval.hpp"
#include "heddle/kernels/fuzzy/sums.hpp"
#include "random_numbers.hpp"
#include "sample.hpp"

namespace heddle::test {
namespace {

using fuzzy::Interval;
using fuzzy::LowerUpper;
using fuzzy::MidpointRadius;
using fuzzy::Traits;

constexpr int kCuts = 2;

/// One operation, on fuzzy numbers and on exact intervals.
struct Operation {
  std::string name;
  /// How many units bounds in lower-upper form may be away from the tightest ones.
  double units = 0.0;
  /// False where the operation is not defined for the whole of its arguments; the result is the whole line then.
  bool (*exact)(Exact& result, const Exact& a, const Exact& b) = nullptr;
};

bool positive(const Exact& a) { return mpfr_sgn(a.lower()) > 0; }
bool without_zero(const Exact& a) { return positive(a) || mpfr_sgn(a.upper()) < 0; }

void exact_power(Exact& result, const Exact& a, unsigned n) {
  if (n % 2 == 1 || mpfr_sgn(a.lower()) >= 0) {
    mpfr_pow_ui(result.lower(), a.lower(), n, MPFR_RNDD);
    mpfr_pow_ui(result.upper(), a.upper(), n, MPFR_RNDU);
  } else if (mpfr_sgn(a.upper()) <= 0) {
    mpfr_pow_ui(result.lower(), a.upper(), n, MPFR_RNDD);
    mpfr_pow_ui(result.upper(), a.lower(), n, MPFR_RNDU);
  } else {
    mpfr_set_zero(result.lower(), 1);
    mpfr_pow_ui(result.upper(), mpfr_cmpabs(a.lower(), a.upper()) > 0 ? a.lower() : a.upper(), n, MPFR_RNDU);
  }
}

const Operation kSum{"a + b", 0.0, [](Exact& r, const Exact& a, const Exact& b) {
                       mpfi_add(r.get(), a.get(), b.get());
                       return true;
                     }};
const Operation kDifference{"a - b", 0.0, [](Exact& r, const Exact& a, const Exact& b) {
                              mpfi_sub(r.get(), a.get(), b.get());
                              return true;
                            }};
const Operation kProduct{"a * b", 0.0, [](Exact& r, const Exact& a, const Exact& b) {
                           mpfi_mul(r.get(), a.get(), b.get());
                           return true;
                         }};
const Operation kFused{"a + a * b", 0.0, [](Exact& r, const Exact& a, const Exact& b) {
                         Exact product(kExactBits);
                         mpfi_mul(product.get(), a.get(), b.get());
                         mpfi_add(r.get(), a.get(), product.get());
                         return true;
                       }};
const Operation kQuotient{"a / b", 0.0, [](Exact& r, const Exact& a, const Exact& b) {
                            if (!without_zero(b)) return false;
                            mpfi_div(r.get(), a.get(), b.get());
                            return true;
                          }};
const Operation kMinimum{"min(a, b)", 0.0, [](Exact& r, const Exact& a, const Exact& b) {
                           mpfr_min(r.lower(), a.lower(), b.lower(), MPFR_RNDD);
                           mpfr_min(r.upper(), a.upper(), b.upper(), MPFR_RNDU);
                           return true;
                         }};
const Operation kMaximum{"max(a, b)", 0.0, [](Exact& r, const Exact& a, const Exact& b) {
                           mpfr_max(r.lower(), a.lower(), b.lower(), MPFR_RNDD);
                           mpfr_max(r.upper(), a.upper(), b.upper(), MPFR_RNDU);
                           return true;
                         }};
const Operation kRoot{"sqrt(a)", 0.0, [](Exact& r, const Exact& a, const Exact&) {
                        if (mpfr_sgn(a.lower()) < 0) return false;
                        mpfi_sqrt(r.get(), a.get());
                        return true;
                      }};
const Operation kRestrictedRoot{"sqrt(a), restricted", 0.0, [](Exact& r, const Exact& a, const Exact&) {
                                  if (mpfr_sgn(a.upper()) < 0) return false;
                                  mpfi_set(r.get(), a.get());
                                  if (mpfr_sgn(a.lower()) < 0) mpfr_set_zero(r.lower(), 1);
                                  mpfi_sqrt(r.get(), r.get());
                                  return true;
                                }};
const Operation kExponential{"exp(a)", 5.0, [](Exact& r, const Exact& a, const Exact&) {
                               mpfi_exp(r.get(), a.get());
                               return true;
                             }};
const Operation kLogarithm{"log(a)", 9.0, [](Exact& r, const Exact& a, const Exact&) {
                             if (!positive(a)) return false;
                             mpfi_log(r.get(), a.get());
                             return true;
                           }};
const Operation kSquare{"pow(a, 2)", 0.0, [](Exact& r, const Exact& a, const Exact&) {
                          exact_power(r, a, 2);
                          return true;
                        }};
const Operation kFifthPower{"pow(a, 5)", 6.0, [](Exact& r, const Exact& a, const Exact&) {
                              exact_power(r, a, 5);
                              return true;
                            }};
const Operation kInverseCube{"pow(a, -3)", 6.0, [](Exact& r, const Exact& a, const Exact&) {
                               if (!without_zero(a)) return false;
                               exact_power(r, a, 3);
                               mpfi_ui_div(r.get(), 1, r.get());
                               return true;
                             }};

template <class T>
T moved(T bound, double units, T towards) {
  for (int unit = 0; unit < static_cast<int>(units); ++unit) bound = std::nextafter(bound, towards);
  return bound;
}

template <class T>
bool is_tiny(const MidpointRadius<T, kCuts>& number) {
  return std::abs(number.midpoint) < std::numeric_limits<T>::min() / Traits<T>::half_unit;
}
template <class T>
bool is_tiny(const LowerUpper<T, kCuts>&) {
  return false;
}

/// What is wrong with cut i of `found`; empty if nothing.
template <class T>
std::string fault_of(const LowerUpper<T, kCuts>& found, int i, const Exact& exact, const Exact&, double units, bool) {
  // The tightest bounds; infinite where the exact value is above the largest number.
  const T lower = rounded_to<T>(exact.lower(), MPFR_RNDD), upper = rounded_to<T>(exact.upper(), MPFR_RNDU);
  const Interval<T> cut = found.cut(i);
  if (!(cut.lower <= lower && cut.upper >= upper)) return "does not contain";
  const T most = moved(upper, units, Traits<T>::infinity), least = moved(lower, units, -Traits<T>::infinity);
  if (std::isinf(cut.upper) || std::isinf(cut.lower)) {
    // Both bounds, and only where one of the tightest is infinite, or may become so.
    const bool both = std::isinf(cut.upper) && std::isinf(cut.lower);
    return both && (std::isinf(most) || std::isinf(least)) ? "" : "is infinite, unlike";
  }
  // Steps between subnormal numbers are large for what comes before the last operation: at the end, or at the beginning
  // of a quotient by them.
  constexpr T normal = std::numeric_limits<T>::min();
  const auto extreme = [](T bound) { return std::abs(bound) < normal || std::abs(bound) > T(0.25) / normal; };
  const bool small = extreme(lower) || extreme(upper);
  return (cut.lower >= least && cut.upper <= most) || (small && units > 0.0) ? "" : "is much wider than";
}
template <class T>
std::string fault_of(const MidpointRadius<T, kCuts>& found, int i, const Exact& exact, const Exact& allowed, double,
                     bool tiny) {
  Exact cut(kExactBits);
  exact_cut(cut, found, i);
  if (mpfr_cmp(cut.lower(), exact.lower()) > 0 || mpfr_cmp(cut.upper(), exact.upper()) < 0) return "does not contain";
  const T radius = found.radius[i];
  // Where a step on the way is rounded to a subnormal number the width says nothing.
  if (tiny || radius < std::numeric_limits<T>::min()) return "";
  // The distance of the farthest point from the midpoint, and roundings of midpoint, radius and bounds on the way.
  Exact needed(kExactBits);
  mpfr_d_sub(needed.lower(), double{found.midpoint}, allowed.lower(), MPFR_RNDU);
  mpfr_sub_d(needed.upper(), allowed.upper(), double{found.midpoint}, MPFR_RNDU);
  mpfr_max(needed.upper(), needed.upper(), needed.lower(), MPFR_RNDU);
  const double size =
      std::max(std::abs(mpfr_get_d(allowed.lower(), MPFR_RNDA)), std::abs(mpfr_get_d(allowed.upper(), MPFR_RNDA)));
  mpfr_add_d(needed.upper(), needed.upper(), 24.0 * Traits<T>::half_unit * size, MPFR_RNDU);
  mpfr_add_d(needed.upper(), needed.upper(), 8.0 * Traits<T>::smallest, MPFR_RNDU);
  if (std::isinf(radius)) {
    const bool large = size >= 0.4 * Traits<T>::largest || std::abs(found.midpoint) >= 0.4 * Traits<T>::largest;
    return large || rounded_to<T>(needed.upper(), MPFR_RNDU) >= 0.4 * Traits<T>::largest ? "" : "is infinite, unlike";
  }
  return mpfr_cmp_d(needed.upper(), double{radius} * (1 - 24.0 * Traits<T>::half_unit)) >= 0 ? ""
                                                                                             : "is much wider than";
}

template <class Number>
std::string shown(const Number& number) {
  std::string text;
  for (int i = 0; i < kCuts; ++i) text += fmt::format(" [{:a}, {:a}]", number.cut(i).lower, number.cut(i).upper);
  return text;
}

template <class T>
void set_bounds(Exact& interval, const Interval<T>& cut) {
  mpfr_set_d(interval.lower(), double{cut.lower}, MPFR_RNDD);
  mpfr_set_d(interval.upper(), double{cut.upper}, MPFR_RNDU);
}

/// `count` random arguments; returns how many cuts were wrong, and shows the first ones.
template <class Number, class Function>
long wrong_results(const Operation& operation, long count, const Function& function) {
  Generator random(sample_seed() + std::hash<std::string>()(operation.name));
  Exact a(kExactBits), b(kExactBits), exact, allowed;
  long wrong = 0;
  for (long n = 0; n < count; ++n) {
    Number x, y;
    draw(random, x);
    draw(random, y);
    const Number found = function(x, y);
    for (int i = 0; i < kCuts; ++i) {
      exact_cut(a, x, i);
      exact_cut(b, y, i);
      std::string fault;
      if (!operation.exact(exact, a, b)) {
        // Or the result of the cut before, within which it has to lie.
        const bool whole = std::isinf(found.cut(i).lower) && std::isinf(found.cut(i).upper);
        if (!whole && (i == 0 || !contains(found.cut(i), found.cut(i - 1)))) fault = "is not the whole line, unlike";
      } else if (mpfr_nan_p(exact.lower()) == 0 && mpfr_nan_p(exact.upper()) == 0) {
        // Functions of numbers in midpoint-radius form start from bounds that are rounded outwards.
        set_bounds(a, x.cut(i));
        set_bounds(b, y.cut(i));
        if (!operation.exact(allowed, a, b)) mpfi_set_d(allowed.get(), Traits<double>::infinity);
        fault = fault_of(found, i, exact, allowed, operation.units, is_tiny(x) || is_tiny(y) || is_tiny(found));
      }
      if (fault.empty()) continue;
      if (++wrong <= 3) {
        MESSAGE(operation.name << ", a" << shown(x) << ", b" << shown(y) << ": cut " << i << " of" << shown(found)
                               << " " << fault << " [" << mpfr_get_d(exact.lower(), MPFR_RNDD) << ", "
                               << mpfr_get_d(exact.upper(), MPFR_RNDU) << "]");
      }
    }
  }
  return wrong;
}

/// Cheap operations get all inputs; exact exponentials and logarithms take several times as long.
long inputs() { return long_run() ? 1'000'000 : 100'000; }

}  // namespace

TEST_CASE_TEMPLATE("results contain those of 200 bits", Number, LowerUpper<double, kCuts>, LowerUpper<float, kCuts>,
                   MidpointRadius<double, kCuts>, MidpointRadius<float, kCuts>) {
  const long count = inputs();
  using N = Number;
  CHECK(wrong_results<N>(kSum, count, [](const N& a, const N& b) { return a + b; }) == 0);
  CHECK(wrong_results<N>(kDifference, count, [](const N& a, const N& b) { return a - b; }) == 0);
  CHECK(wrong_results<N>(kProduct, count, [](const N& a, const N& b) { return a * b; }) == 0);
  CHECK(wrong_results<N>(kFused, count, [](const N& a, const N& b) {
          N sum = a;
          add_product(sum, a, b);
          return closed_sum(sum);
        }) == 0);
  CHECK(wrong_results<N>(kQuotient, count, [](const N& a, const N& b) { return a / b; }) == 0);
  CHECK(wrong_results<N>(kMinimum, count, [](const N& a, const N& b) { return min(a, b); }) == 0);
  CHECK(wrong_results<N>(kMaximum, count, [](const N& a, const N& b) { return max(a, b); }) == 0);
  CHECK(wrong_results<N>(kRoot, count, [](const N& a, const N&) { return sqrt(a); }) == 0);
  CHECK(wrong_results<N>(kRestrictedRoot, count,
                         [](const N& a, const N&) { return sqrt(a, fuzzy::Domain::restricted); }) == 0);
  CHECK(wrong_results<N>(kExponential, count, [](const N& a, const N&) { return exp(a); }) == 0);
  CHECK(wrong_results<N>(kLogarithm, count, [](const N& a, const N&) { return log(a); }) == 0);
  CHECK(wrong_results<N>(kSquare, count, [](const N& a, const N&) { return pow(a, 2); }) == 0);
  CHECK(wrong_results<N>(kFifthPower, count, [](const N& a, const N&) { return pow(a, 5); }) == 0);
  CHECK(wrong_results<N>(kInverseCube, count, [](const N& a, const N&) { return pow(a, -3); }) == 0);
}

}  // namespace heddle::test
