#include "heddle/runtime/fuzzy/array.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <span>
#include <string>
#include <vector>

#include "runtime/fuzzy/array_checks.hpp"

namespace heddle::fuzzy {
namespace {

TEST_CASE_TEMPLATE("arrays go to a device, are computed with, and come back, in either layout", Number,
                   LowerUpper<double, 3>, LowerUpper<float, 3>, MidpointRadius<double, 3>, MidpointRadius<float, 3>) {
  check_map<Number>("cpu");
}

TEST_CASE("sums, dot products and products with matrices") {
  check_sums("cpu");
  check_sums("emulator");
}

TEST_CASE("numbers are sorted by their keys") {
  check_sort("cpu");
  check_sort("emulator");
}

TEST_CASE_TEMPLATE("arrays are made of what a device has already", T, float, double) {
  Desk desk("emulator");
  std::vector<std::vector<std::byte>> kept;  // kernels of the emulator see the memory of this process
  check_given<T>(desk.calculator, [&](std::span<const std::byte> bytes) -> const void* {
    return kept.emplace_back(bytes.begin(), bytes.end()).data();
  });
  const T zero = 0;
  const GivenNumbers one{.address = &zero, .rows = 1, .bits = 8 * sizeof(T)};
  CHECK_THROWS_WITH_AS(static_cast<void>(Desk("cpu").calculator.array(Encoding::midpoint_radius, one, one)),
                       "fuzzy arrays: cpu has no memory but the host's", Error);
}

TEST_CASE("operators of arrays are those of the numbers") {
  using Number = LowerUpper<double, 3>;
  constexpr std::size_t kCount = 17;
  const std::vector<Number> x = triangles<Number>(kCount, 3), y = triangles<Number>(kCount, 4);
  Desk desk("cpu");
  const Array a = desk.calculator.array(x), b = desk.calculator.array(y);
  const auto check = [&](const Array& found, const auto& expected) {
    CHECK(all_same(found.numbers<Number>(), kCount, [&](std::size_t i) { return expected(x[i], y[i]); }));
  };
  check(a + b, [](const Number& u, const Number& v) { return u + v; });
  check(a - b, [](const Number& u, const Number& v) { return u - v; });
  check(a / b, [](const Number& u, const Number& v) { return u / v; });
  check(-a, [](const Number& u, const Number&) { return -u; });
  check(min(a, b), [](const Number& u, const Number& v) { return min(u, v); });
  check(max(a, b), [](const Number& u, const Number& v) { return max(u, v); });
  check(sqrt(a), [](const Number& u, const Number&) { return sqrt(u); });
  check(exp(a), [](const Number& u, const Number&) { return exp(u); });
  check(log(a), [](const Number& u, const Number&) { return log(u); });
}

TEST_CASE("keys that are not as many as the numbers, or of another type, are refused") {
  Desk desk("cpu");
  const Array array = desk.calculator.array(triangles<LowerUpper<float, 3>>(300, 5));
  const std::vector<float> keys(300);
  CHECK_THROWS_WITH_AS(static_cast<void>(desk.calculator.sort(array, std::span(keys).first(7))),
                       "fuzzy sort: found 7 keys, expected one for each of 300 numbers", Error);
  CHECK_THROWS_WITH_AS(static_cast<void>(desk.calculator.sort(array, std::vector<double>(300))),
                       "fuzzy sort: found keys of 64 bits, expected 32 as in the array", Error);
}

TEST_CASE("matrices that do not fit are refused") {
  Desk desk("cpu");
  const Array vector = desk.calculator.array(whole_numbers<LowerUpper<float, 2>>(70, 7));
  CHECK_THROWS_WITH_AS(
      static_cast<void>(desk.calculator.product(desk.calculator.matrix(1, 2, std::vector<float>(2)), vector)),
      "fuzzy product: found 2 columns of 32 bits and a vector of 70 of float, 2 cuts, encoded lu, "
      "layout 1, expected one number for each column",
      Error);
  CHECK_THROWS_WITH_AS(static_cast<void>(desk.calculator.matrix(2, 2, std::vector<float>(3))),
                       "matrix: found 3 numbers, expected 2 rows of 2", Error);
  CHECK_THROWS_WITH_AS(
      static_cast<void>(desk.calculator.matrix(1, 2, std::vector<double>{1.0, Traits<double>::infinity})),
      "matrix: found inf in row 0, column 1, expected a finite number", Error);
}

TEST_CASE("what is no array of fuzzy numbers, and arrays that do not fit each other, are refused") {
  using Number = LowerUpper<double, 2>;
  Desk desk("cpu");
  Calculator& calculator = desk.calculator;
  const auto refused = [&](const Number& number) {
    try {
      static_cast<void>(calculator.array(std::vector<Number>{Number::crisp(1.0), number}));
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::input);
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  CHECK(refused({{2, 2}, {1, 1}}) == "fuzzy array: number 1 has a lower bound above the upper one");
  CHECK(refused({{0, -1}, {2, 1}}) == "fuzzy array: number 1 has a cut outside of the one before");
  CHECK(refused({{0, 1}, {2, std::numeric_limits<double>::quiet_NaN()}}) == "fuzzy array: number 1 has nan");
  constexpr double kInfinite = Traits<double>::infinity;
  CHECK(refused({{-kInfinite, 1}, {3, 2}}) ==
        "fuzzy array: number 1 has one infinite bound, which the whole line alone has");
  CHECK(refused({{-kInfinite, 1}, {kInfinite, kInfinite}}) ==
        "fuzzy array: number 1 has one infinite bound, which the whole line alone has");
  CHECK(refused({{kInfinite, kInfinite}, {kInfinite, kInfinite}}) == "fuzzy array: number 1 has a lower bound of inf");
  CHECK(refused({{-kInfinite, -kInfinite}, {-kInfinite, -kInfinite}}) ==
        "fuzzy array: number 1 has an upper bound of -inf");
  CHECK(refused({{-kInfinite, 1}, {kInfinite, 1}}) == "nothing");
  using Radii = MidpointRadius<float, 2>;
  CHECK_THROWS_WITH_AS(static_cast<void>(calculator.array(std::vector<Radii>{{1, {-1, 0}}})),
                       "fuzzy array: number 0 has a radius below 0", Error);
  CHECK_THROWS_WITH_AS(static_cast<void>(calculator.array(std::vector<Radii>{{1, {1, 2}}})),
                       "fuzzy array: number 0 has a cut outside of the one before", Error);
  CHECK_THROWS_WITH_AS(static_cast<void>(calculator.array(std::vector<Number>{})),
                       "fuzzy array: found 0 numbers of 2 cuts, expected at least 1 of 1 to 64", Error);

  const Array two = calculator.array(std::vector<Number>(2, Number::crisp(1.0))),
              three = calculator.array(std::vector<Number>(3, Number::crisp(1.0)));
  CHECK_THROWS_WITH_AS(static_cast<void>(two + three),
                       "fuzzy arrays: found 2 of double, 2 cuts, encoded lu, layout 1 and 3 of double, 2 cuts, encoded "
                       "lu, layout 1, expected arrays of one length and form",
                       Error);
  CHECK_THROWS_WITH_AS(static_cast<void>(calculator.map("a*q", {{"a", two}})),
                       "formula: found 'q', which names no array", Error);
  CHECK_THROWS_WITH_AS(static_cast<void>(two.numbers<Radii>()),
                       "fuzzy array: numbers asked for as float of 2 cuts, encoded mr, the array has double of 2 cuts, "
                       "encoded lu",
                       Error);
}

}  // namespace
}  // namespace heddle::fuzzy
