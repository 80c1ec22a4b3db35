// Rounded operations of the host against the processor's own rounding modes.
#include "heddle/kernels/fuzzy/rounding.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cfenv>
#include <cmath>

#include "heddle/kernels/fuzzy/elementary.hpp"
#include "random_numbers.hpp"
#include "sample.hpp"

namespace heddle::test {
namespace {

using fuzzy::Traits;

template <class T>
struct Arguments {
  T a, b, c;
};

/// The seven results in one direction of rounding: volatile, so that nothing is moved out of the mode.
template <class T>
std::array<T, 7> by_processor(const Arguments<T>& arguments, int mode) {
  const volatile T a = arguments.a, b = arguments.b, c = arguments.c, size = std::abs(arguments.a);
  const volatile double wide = static_cast<double>(arguments.a) * 1.0000000001;
  const int before = std::fegetround();
  std::fesetround(mode);
  const volatile T sum = a + b, difference = a - b, product = a * b, quotient = a / b, root = std::sqrt(size),
                   fused = std::fma(a, b, c), narrowed = static_cast<T>(wide);
  std::fesetround(before);
  return {sum, difference, product, quotient, root, fused, narrowed};
}
template <class T>
std::array<T, 7> upwards(const Arguments<T>& x) {
  using namespace fuzzy;
  const double wide = static_cast<double>(x.a) * 1.0000000001;
  return {add_up(x.a, x.b),       subtract_up(x.a, x.b),   multiply_up(x.a, x.b), divide_up(x.a, x.b),
          root_up(std::abs(x.a)), fused_up(x.a, x.b, x.c), narrowed_up<T>(wide)};
}
template <class T>
std::array<T, 7> downwards(const Arguments<T>& x) {
  using namespace fuzzy;
  const double wide = static_cast<double>(x.a) * 1.0000000001;
  return {add_down(x.a, x.b),       subtract_down(x.a, x.b),   multiply_down(x.a, x.b), divide_down(x.a, x.b),
          root_down(std::abs(x.a)), fused_down(x.a, x.b, x.c), narrowed_down<T>(wide)};
}

template <class T>
bool same(const std::array<T, 7>& a, const std::array<T, 7>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!(a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])))) return false;
  }
  return true;
}

}  // namespace

TEST_CASE_TEMPLATE("rounded operations are those of the processor in its other modes", T, double, float) {
  Generator random(sample_seed());
  const long count = long_run() ? 10'000'000 : 300'000;
  long wrong = 0;
  for (long n = 0; n < count; ++n) {
    Arguments<T> x{number_of_any_kind<T>(random), number_of_any_kind<T>(random), number_of_any_kind<T>(random)};
    // Sums that nearly cancel, and those whose parts are far apart.
    if (n % 4 == 0) x.c = -x.a * x.b;
    if (n % 8 == 1) x.b = -std::nextafter(x.a, x.b);
    if (n % 8 == 3) x.c = std::ldexp(x.c, -200);
    const bool right = same(upwards(x), by_processor(x, FE_UPWARD)) && same(downwards(x), by_processor(x, FE_DOWNWARD));
    if (!right && ++wrong <= 3) MESSAGE(double{x.a} << ", " << double{x.b} << ", " << double{x.c});
  }
  CHECK(wrong == 0);
}

TEST_CASE("exponentials and logarithms of float are almost always the tightest") {
  Generator random(sample_seed());
  int loose = 0;
  constexpr int kCount = 100'000;
  for (int n = 0; n < kCount; ++n) {
    const float x = 80.0F * ordinary_number<float>(random, 0);
    const auto e = fuzzy::exp_of(x);
    const auto l = fuzzy::log_of(std::abs(x));
    loose += std::nextafter(e.lower, 1e38F) != e.upper ? 1 : 0;
    loose += std::nextafter(l.lower, 1e38F) != l.upper ? 1 : 0;
  }
  CHECK(loose < kCount / 1000);
  CHECK(fuzzy::exp_of(0.0).lower == 1.0);
  CHECK(fuzzy::exp_of(0.0).upper == 1.0);
  CHECK(fuzzy::log_of(1.0F).lower == 0.0F);
  CHECK(fuzzy::log_of(1.0F).upper == 0.0F);
}

}  // namespace heddle::test
