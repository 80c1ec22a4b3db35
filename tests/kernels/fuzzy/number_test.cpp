// What numbers promise beside containment: what has no bounds, conversion, shapes, and the real numbers that stand for
// a fuzzy one.
#include <doctest/doctest.h>

#include <array>
#include <cmath>

#include "heddle/kernels/fuzzy/measures.hpp"
#include "heddle/kernels/fuzzy/shapes.hpp"
#include "random_numbers.hpp"
#include "sample.hpp"

namespace heddle::test {
namespace {

using namespace fuzzy;
using Lu = LowerUpper<double, 3>;
using Mr = MidpointRadius<double, 2>;
constexpr std::array<double, 3> kLevels{0.0, 0.5, 1.0};

bool is_whole(const Interval<double>& cut) { return std::isinf(cut.lower) && std::isinf(cut.upper); }

template <class Number>
bool nested(const Number& number) {
  for (int i = 1; i < Number::count; ++i) {
    if (!contains(number.cut(i - 1), number.cut(i))) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("a cut without bounds is the whole line, and the other cuts keep theirs") {
  const Mr six = Mr::crisp(6.0), two{2.0, {2.5, 0.5}};
  const Mr quotient = six / two;
  CHECK(quotient.midpoint == 3.0);
  CHECK(std::isinf(quotient.radius[0]));
  CHECK(quotient.radius[1] == doctest::Approx(1.0));

  const Lu number{{-1.0, 0.5, 1.0}, {3.0, 2.5, 2.0}};
  const Lu inverse = 1.0 / number;
  CHECK(is_whole(inverse.cut(0)));
  CHECK(inverse.upper[1] == 2.0);
  CHECK(is_whole(log(number).cut(0)));
  CHECK_FALSE(is_whole(log(number).cut(1)));
  CHECK(is_whole(sqrt(number).cut(0)));
  CHECK(sqrt(number, Domain::restricted).lower[0] == 0.0);
  CHECK(is_whole((number * 1e308 * 1e10).cut(2)));
  // 0 times the whole line.
  const Lu zero = Lu::crisp(0.0) * inverse;
  CHECK(zero.lower[0] == 0.0);
  CHECK(zero.upper[0] == 0.0);
  // A midpoint that would be infinite.
  const Mr large = Mr::crisp(1e308) * Mr::crisp(1e308);
  CHECK(large.midpoint == 0.0);
  CHECK(std::isinf(large.radius[1]));
}

TEST_CASE_TEMPLATE("results are nested as their arguments are", Number, LowerUpper<double, 4>, LowerUpper<float, 4>,
                   MidpointRadius<double, 4>, MidpointRadius<float, 4>) {
  Generator random(sample_seed());
  int wrong = 0;
  for (int n = 0; n < 20'000; ++n) {
    Number a, b;
    draw(random, a);
    draw(random, b);
    for (const Number& result : {a + b, a - b, a * b, a / b, min(a, b), max(a, b), sqrt(a), sqrt(a, Domain::restricted),
                                 exp(a), log(a), pow(a, 2), pow(a, -3), -a, a * b + a}) {
      wrong += nested(result) ? 0 : 1;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE_TEMPLATE("conversions enclose, and say what they add", T, double, float) {
  Generator random(sample_seed());
  int outside = 0, understated = 0, back = 0;
  for (int n = 0; n < 20'000; ++n) {
    LowerUpper<T, 3> a;
    draw(random, a);
    const auto enclosed = to_midpoint_radius(a);
    outside += contains_number(enclosed.number, a) ? 0 : 1;
    for (int i = 0; i < 3; ++i) {
      const auto before = a.cut(i), after = enclosed.number.cut(i);
      if (std::isinf(after.upper)) {
        understated += std::isinf(before.upper) == (enclosed.added[i] == T(0)) ? 0 : 1;
      } else {
        const long double added = (static_cast<long double>(after.upper) - before.upper) +
                                  (static_cast<long double>(before.lower) - after.lower);
        understated += added <= enclosed.added[i] ? 0 : 1;
      }
    }
    MidpointRadius<T, 3> b;
    draw(random, b);
    back += contains_number(to_lower_upper(b), b) ? 0 : 1;
  }
  CHECK(outside == 0);
  CHECK(understated == 0);
  CHECK(back == 0);
  // What is symmetric stays as wide as it is.
  const auto symmetric = to_midpoint_radius(LowerUpper<T, 2>{{T(1), T(1.5)}, {T(3), T(2.5)}});
  CHECK(symmetric.added[0] == T(0));
  CHECK(symmetric.number.midpoint == T(2));
}

TEST_CASE_TEMPLATE("the power 0 is 1, whatever the number is", T, double, float) {
  const LowerUpper<T, 3> around{{-Traits<T>::infinity, T(-1), T(0)}, {Traits<T>::infinity, T(2), T(0)}};
  const MidpointRadius<T, 2> wide{T(1), {Traits<T>::infinity, T(3)}};
  for (int i = 0; i < 3; ++i) {
    CHECK(pow(around, 0).lower[i] == T(1));
    CHECK(pow(around, 0).upper[i] == T(1));
  }
  CHECK(pow(wide, 0).midpoint == T(1));
  CHECK(pow(wide, 0).radius[0] == T(0));
  CHECK(pow(wide, 0).radius[1] == T(0));
}

TEST_CASE("containment of numbers is never claimed wrongly") {
  const MidpointRadius<double, 1> wide{1.0, {0x1p-60}}, narrow{1.0, {0x1p-61}};
  // Its bounds, rounded outwards, are numbers that it does not contain.
  CHECK_FALSE(contains_value(wide, 0, wide.cut(0).upper));
  CHECK(contains_value(wide, 0, 1.0));
  CHECK_FALSE(contains_number(narrow, wide));
  const Lu outer{{0.0, 1.0, 2.0}, {5.0, 4.0, 3.0}};
  CHECK(contains_number(outer, outer));
  CHECK_FALSE(contains_number(outer, outer * 1.5));
}

TEST_CASE("shapes are cut at their levels, outwards") {
  const auto triangle = triangular<Lu>(1.0, 2.0, 4.0, kLevels.data());
  CHECK(triangle.lower[1] == 1.5);
  CHECK(triangle.upper[1] == 3.0);
  CHECK(triangle.lower[2] == 2.0);
  const auto trapezoid = trapezoidal<Lu>(0.0, 1.0, 3.0, 7.0, kLevels.data());
  CHECK(trapezoid.upper[0] == 7.0);
  CHECK(trapezoid.upper[1] == 5.0);
  CHECK(trapezoid.upper[2] == 3.0);
  // exp(-x^2 / 2) is 1/2 at 1.17741..., and 0.01 at 3.03485...
  const auto bell = gaussian<Lu>(10.0, 2.0, kLevels.data(), 0.01);
  CHECK(bell.upper[1] - 10.0 == doctest::Approx(2.0 * std::sqrt(2.0 * std::log(2.0))));
  CHECK(bell.upper[0] - 10.0 == doctest::Approx(2.0 * std::sqrt(-2.0 * std::log(0.01))));
  CHECK(bell.upper[2] == 10.0);
  const std::array corners{Corner<double>{0.0, 0.0}, Corner<double>{1.0, 0.25}, Corner<double>{2.0, 1.0},
                           Corner<double>{3.0, 1.0}, Corner<double>{5.0, 0.0},  Corner<double>{9.0, 0.0}};
  const auto linear = piecewise_linear<Lu>(corners.data(), 6, kLevels.data());
  CHECK(linear.lower[0] == 0.0);
  CHECK(linear.upper[0] == 5.0);  // not 9: the membership is 0 from 5 on
  CHECK(linear.lower[1] == doctest::Approx(1.0 + 1.0 / 3.0));
  CHECK(linear.lower[1] <= 1.0 + 1.0 / 3.0);
  CHECK(linear.upper[1] == 4.0);
  CHECK(linear.lower[2] == 2.0);
  CHECK(linear.upper[2] == 3.0);
  // In the other encoding: around the middle of the highest cut.
  const auto around = triangular<MidpointRadius<double, 3>>(1.0, 2.0, 4.0, kLevels.data());
  CHECK(around.midpoint == 2.0);
  CHECK(around.radius[0] == 2.0);
}

TEST_CASE("even levels are never above the fractions that they stand for") {
  int above = 0, far = 0;
  for (int cuts = 2; cuts <= 64; ++cuts) {
    for (int i = 0; i < cuts; ++i) {
      const double level = even_level(i, cuts), off = std::fma(level, cuts - 1, -i);  // the sign of it is exact
      above += off > 0.0 ? 1 : 0;
      far += off < -i * 0x1p-52 ? 1 : 0;
    }
    CHECK(even_level(cuts - 1, cuts) == 1.0);
  }
  CHECK(above == 0);
  CHECK(far == 0);
}

TEST_CASE_TEMPLATE("cuts of random triangles contain the true ones", T, double, float) {
  Generator random(sample_seed());
  int wrong = 0;
  for (int n = 0; n < 20'000; ++n) {
    std::array<T, 3> corner{};
    for (T& x : corner) x = ordinary_number<T>(random, 20);
    std::sort(corner.begin(), corner.end());
    std::array<double, 3> level{};
    for (double& at : level) at = std::abs(ordinary_number<double>(random, 0));
    std::sort(level.begin(), level.end());
    const auto number = triangular<LowerUpper<T, 3>>(corner[0], corner[1], corner[2], level.data());
    wrong += nested(number) ? 0 : 1;
    for (std::size_t i = 0; i < 3; ++i) {
      // With 64 bits, so that only what is off by more than their rounding is found.
      const long double a = corner[0], b = corner[1], c = corner[2], way = level[i], slack = 1e-18L;
      const long double lower = a + way * (b - a), upper = c - way * (c - b);
      const long double near = slack * (std::abs(a) + std::abs(b) + std::abs(c));
      wrong += number.lower[i] <= lower + near && number.upper[i] >= upper - near ? 0 : 1;
      const long double most = 8 * Traits<T>::half_unit * (std::abs(a) + std::abs(b) + std::abs(c));
      wrong += number.lower[i] >= lower - most && number.upper[i] <= upper + most ? 0 : 1;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("the cut of any level is enclosed by one that is there") {
  const Lu number{{0.0, 1.0, 2.0}, {5.0, 4.0, 3.0}};
  CHECK(alpha_cut(number, kLevels.data(), 0.5).lower == 1.0);
  CHECK(alpha_cut(number, kLevels.data(), 0.7).lower == 1.0);
  CHECK(alpha_cut(number, kLevels.data(), 1.0).upper == 3.0);
  CHECK(alpha_cut(number, kLevels.data(), 0.1).upper == 5.0);
  const std::array<double, 3> higher{0.25, 0.5, 1.0};
  CHECK(is_whole(alpha_cut(number, higher.data(), 0.1)));
}

TEST_CASE("centroid, expected interval, ranking and distance of known numbers") {
  // A triangle's centroid is the mean of its corners; of this trapezoid it is known from its two triangles and its
  // rectangle: (0.5 * 2/3 + 2 * 2 + 2 * 13/3) / 4.5 from areas 0.5, 2 and 2.
  const auto triangle = triangular<Lu>(1.0, 2.0, 6.0, kLevels.data());
  CHECK(centroid(triangle, kLevels.data()) == doctest::Approx(3.0));
  const auto trapezoid = trapezoidal<Lu>(0.0, 1.0, 3.0, 7.0, kLevels.data());
  CHECK(centroid(trapezoid, kLevels.data()) == doctest::Approx((0.5 * 2.0 / 3.0 + 2.0 * 2.0 + 2.0 * 13.0 / 3.0) / 4.5));
  CHECK(mean_of_maxima(trapezoid) == 2.0);
  // Between the levels 0, 1/2 and 1 the bounds are linear: half the corners each.
  CHECK(expected_interval(trapezoid, kLevels.data()).lower == doctest::Approx(0.5));
  CHECK(expected_interval(trapezoid, kLevels.data()).upper == doctest::Approx(5.0));
  CHECK(ranking_value(trapezoid, kLevels.data()) == doctest::Approx(2.75));
  CHECK(ranking_value(trapezoid, kLevels.data(), 1.0) == doctest::Approx(5.0));
  CHECK(ranking_value(triangle, kLevels.data()) > ranking_value(triangle - 0.5, kLevels.data()));
  CHECK(centroid(Lu::crisp(3.0), kLevels.data()) == 3.0);
  // Moved by 2: the distance is 2 on both sides of every level.
  CHECK(distance(triangle, triangle + 2.0, kLevels.data()) == doctest::Approx(2.0 * std::sqrt(2.0)));
  CHECK(distance(triangle, triangle, kLevels.data()) == 0.0);
  // Linear differences, 0 to 3: the root of the integral of (3 (1 - t))^2 is that of 3.
  CHECK(distance(triangular<Lu>(0.0, 3.0, 3.0, kLevels.data()), Lu::crisp(3.0), kLevels.data()) ==
        doctest::Approx(std::sqrt(3.0)));
  // Levels that begin above 0 and end below 1: bounds stay what they are there.
  const std::array<double, 1> middle{0.5};
  const LowerUpper<double, 1> interval{{1.0}, {3.0}};
  CHECK(centroid(interval, middle.data()) == doctest::Approx(2.0));
  CHECK(expected_interval(interval, middle.data()).upper == doctest::Approx(3.0));
}

}  // namespace heddle::test
