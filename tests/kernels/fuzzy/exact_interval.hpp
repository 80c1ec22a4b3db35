// Intervals of 200 bits and more (MPFI), which the cuts of fuzzy numbers are compared with.
#pragma once

#include <mpfi.h>
#include <mpfr.h>

#include <limits>
#include <type_traits>

#include "heddle/kernels/fuzzy/midpoint_radius.hpp"

namespace heddle::test {

/// Enough for the results of functions.
constexpr mpfr_prec_t kBits = 200;
/// Enough for m + r of any two doubles, exactly.
constexpr mpfr_prec_t kExactBits = 2200;

/// An MPFI interval that is freed.
class Exact {
 public:
  explicit Exact(mpfr_prec_t bits = kBits) { mpfi_init2(interval_, bits); }
  ~Exact() { mpfi_clear(interval_); }
  Exact(const Exact&) = delete;
  Exact& operator=(const Exact&) = delete;

  [[nodiscard]] mpfi_ptr get() { return interval_; }
  [[nodiscard]] mpfi_srcptr get() const { return interval_; }
  [[nodiscard]] mpfr_ptr lower() { return &interval_->left; }
  [[nodiscard]] mpfr_ptr upper() { return &interval_->right; }
  [[nodiscard]] mpfr_srcptr lower() const { return &interval_->left; }
  [[nodiscard]] mpfr_srcptr upper() const { return &interval_->right; }

 private:
  mpfi_t interval_;
};

/// Cut i of a number, exactly.
template <class T, int cuts>
void exact_cut(Exact& result, const fuzzy::LowerUpper<T, cuts>& number, int i) {
  mpfr_set_d(result.lower(), double{number.lower[i]}, MPFR_RNDD);
  mpfr_set_d(result.upper(), double{number.upper[i]}, MPFR_RNDU);
}
template <class T, int cuts>
void exact_cut(Exact& result, const fuzzy::MidpointRadius<T, cuts>& number, int i) {
  mpfr_set_d(result.lower(), double{number.midpoint}, MPFR_RNDN);
  mpfr_sub_d(result.lower(), result.lower(), double{number.radius[i]}, MPFR_RNDD);
  mpfr_set_d(result.upper(), double{number.midpoint}, MPFR_RNDN);
  mpfr_add_d(result.upper(), result.upper(), double{number.radius[i]}, MPFR_RNDU);
}

/// The nearest number of type T in the direction of rounding.
template <class T>
[[nodiscard]] T rounded_to(mpfr_srcptr value, mpfr_rnd_t direction) {
  if constexpr (std::is_same_v<T, float>) {
    return mpfr_get_flt(value, direction);
  } else {
    return mpfr_get_d(value, direction);
  }
}

}  // namespace heddle::test
