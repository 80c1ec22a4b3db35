#include "heddle/kernels/fuzzy/series.hpp"

#include <doctest/doctest.h>

#include "kernels/fuzzy/random_numbers.hpp"

namespace heddle::fuzzy {
namespace {

constexpr int kSeriesCuts = 3;

template <class T>
bool same(const LowerUpper<T, kSeriesCuts>& a, const LowerUpper<T, kSeriesCuts>& b) {
  for (int i = 0; i < kSeriesCuts; ++i) {
    if (!(a.lower[i] == b.lower[i] && a.upper[i] == b.upper[i])) return false;
  }
  return true;
}
template <class T>
bool same(const MidpointRadius<T, kSeriesCuts>& a, const MidpointRadius<T, kSeriesCuts>& b) {
  for (int i = 0; i < kSeriesCuts; ++i) {
    if (a.radius[i] != b.radius[i]) return false;
  }
  return a.midpoint == b.midpoint;
}

/// Few terms and many of hostile numbers; and numbers of which series stay finite, so that signs change late.
template <class Number>
void compare_series() {
  using T = typename Number::Real;
  test::Generator random(7);
  int wrong = 0;
  for (int i = 0; i < 4000; ++i) {
    Number a, b, c;
    test::draw(random, a);
    test::draw(random, b);
    test::draw(random, c);
    if (i % 4 == 0) {
      a = a / (T(2) * max(a, -a));
      b = min(max(b, T(-1)), T(1));
    }
    const int terms = static_cast<int>(random() % (i % 8 == 0 ? 700 : 40));
    wrong += static_cast<int>(!same(series(a, b, c, terms), plain_series(a, b, c, terms)));
  }
  CHECK(wrong == 0);
}

TEST_CASE("a series has the bits of its definition") {
  compare_series<LowerUpper<double, kSeriesCuts>>();
  compare_series<LowerUpper<float, kSeriesCuts>>();
  compare_series<MidpointRadius<double, kSeriesCuts>>();
  compare_series<MidpointRadius<float, kSeriesCuts>>();
}

TEST_CASE("a value that falls slowly, and changes its sign after many terms") {
  // c = 0.999 c - 0.001 [0.5, 1], from 10: it ends below 0.
  LowerUpper<double, kSeriesCuts> a, b, c;
  for (int i = 0; i < kSeriesCuts; ++i) {
    a.set(i, {0.999, 0.9991});
    b.set(i, {-0.001, -0.0005});
    c.set(i, {10.0 - 0.1 * (kSeriesCuts - i), 10.0 + 0.1 * (kSeriesCuts - i)});
  }
  for (const int terms : {1, 8, 9, 264, 1000, 3000, 10001}) {
    const auto found = series(a, b, c, terms), expected = plain_series(a, b, c, terms);
    CHECK(same(found, expected));
    CHECK((found.upper[0] < 0.0) == (terms > 10000));
    CHECK(same(series(-a, b, c, terms), plain_series(-a, b, c, terms)));
  }
}

}  // namespace
}  // namespace heddle::fuzzy
