#include "heddle/runtime/fuzzy/array.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <random>
#include <string>
#include <vector>

#include "heddle/kernels/fuzzy/measures.hpp"
#include "heddle/kernels/fuzzy/shapes.hpp"
#include "heddle/runtime/fuzzy/calculator.hpp"
#include "temporary_folder.hpp"

namespace heddle::fuzzy {
namespace {

/// A device and a calculator without profiles.
struct Desk {
  explicit Desk(const std::string& label)
      : device(open_device(label)), calculator(*device, {.profiles = none(folder)}) {}
  static std::filesystem::path none(const TemporaryFolder& folder) { return folder.path() / "none.sqlite"; }

  TemporaryFolder folder;
  std::unique_ptr<Device> device;
  Calculator calculator;
};

template <class Number>
std::vector<Number> triangles(std::size_t count, unsigned seed) {
  using T = typename Number::Real;
  std::mt19937 random(seed);
  const double level[] = {0.0, 0.5, 1.0};
  std::vector<Number> numbers;
  numbers.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const T middle = static_cast<T>(random() % 2001) / T(1000) - T(1), half = static_cast<T>(random() % 100) / T(64);
    numbers.push_back(triangular<Number>(middle - half, middle, middle + half, level));
  }
  return numbers;
}

template <class T, int cuts>
bool same(const LowerUpper<T, cuts>& a, const LowerUpper<T, cuts>& b) {
  bool all = true;
  for (int i = 0; i < cuts; ++i) all = all && a.lower[i] == b.lower[i] && a.upper[i] == b.upper[i];
  return all;
}
template <class T, int cuts>
bool same(const MidpointRadius<T, cuts>& a, const MidpointRadius<T, cuts>& b) {
  bool all = a.midpoint == b.midpoint;
  for (int i = 0; i < cuts; ++i) all = all && a.radius[i] == b.radius[i];
  return all;
}

/// Whether every number of `found` is what `expected(i)` says.
template <class Number, class Expected>
bool all_same(const std::vector<Number>& found, std::size_t count, const Expected& expected) {
  bool all = found.size() == count;
  for (std::size_t i = 0; all && i < count; ++i) all = same(found[i], expected(i));
  return all;
}

TEST_CASE_TEMPLATE("arrays go to a device, are computed with, and come back, in either layout", Number,
                   LowerUpper<double, 3>, LowerUpper<float, 3>, MidpointRadius<double, 3>, MidpointRadius<float, 3>) {
  constexpr std::size_t kCount = 131;
  const std::vector<Number> x = triangles<Number>(kCount, 1), y = triangles<Number>(kCount, 2);
  Desk desk("cpu");
  for (const Layout layout : {kNumbers, kCuts}) {
    const Array a = desk.calculator.array(x, layout), b = desk.calculator.array(y, layout);
    CHECK(all_same(a.numbers<Number>(), kCount, [&](std::size_t i) { return x[i]; }));
    CHECK(all_same((a * b).numbers<Number>(), kCount, [&](std::size_t i) { return x[i] * y[i]; }));
    const Array c = desk.calculator.map("exp(u)/4 - v^2", {{"v", b}, {"u", a}});
    CHECK(all_same(c.numbers<Number>(), kCount,
                   [&](std::size_t i) { return exp(x[i]) / Number::crisp(4) - pow(y[i], 2); }));
    CHECK(c.size() == kCount);
    CHECK(c.shape().layout == layout);
  }
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

TEST_CASE("numbers are sorted by their keys") {
  using Number = MidpointRadius<float, 3>;
  constexpr std::size_t kCount = 300;
  const std::vector<Number> x = triangles<Number>(kCount, 5);
  const double level[] = {0.0, 0.5, 1.0};
  std::vector<float> keys;
  keys.reserve(kCount);
  for (const Number& number : x) keys.push_back(static_cast<float>(ranking_value(number, level)));
  Desk desk("cpu");
  const Array array = desk.calculator.array(x);
  const Sorted sorted = desk.calculator.sort(array, keys);
  bool rising = true;
  for (std::size_t i = 1; i < kCount; ++i)
    rising = rising && keys[sorted.positions[i - 1]] <= keys[sorted.positions[i]];
  CHECK(rising);
  CHECK(all_same(sorted.numbers.numbers<Number>(), kCount, [&](std::size_t i) { return x[sorted.positions[i]]; }));
  CHECK_THROWS_WITH_AS(static_cast<void>(desk.calculator.sort(array, std::span(keys).first(7))),
                       "fuzzy sort: found 7 keys, expected one for each of 300 numbers", Error);
  CHECK_THROWS_WITH_AS(static_cast<void>(desk.calculator.sort(array, std::vector<double>(kCount))),
                       "fuzzy sort: found keys of 64 bits, expected 32 as in the array", Error);
}

/// Whole numbers, of which sums and products are exact.
template <class Number>
std::vector<Number> whole_numbers(std::size_t count, unsigned seed) {
  using T = typename Number::Real;
  std::mt19937 random(seed);
  const double level[] = {0.0, 1.0};
  std::vector<Number> numbers;
  numbers.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const T middle = static_cast<T>(random() % 41) - T(20), half = static_cast<T>(random() % 5);
    numbers.push_back(triangular<Number>(middle - half, middle, middle + half, level));
  }
  return numbers;
}

TEST_CASE("sums, dot products and products with matrices") {
  using Number = LowerUpper<float, 2>;
  constexpr std::size_t kRows = 3, kColumns = 70;
  const std::vector<Number> x = whole_numbers<Number>(kColumns, 7), m = whole_numbers<Number>(kRows * kColumns, 8);
  std::vector<float> reals;
  reals.reserve(m.size());
  for (const Number& entry : m) reals.push_back(entry.upper[1]);
  Number sum = Number::crisp(0), dot = sum;
  std::vector<Number> fuzzy_product(kRows, sum), real_product(kRows, sum);
  for (std::size_t j = 0; j < kColumns; ++j) {
    sum = sum + x[j];
    dot = dot + x[j] * m[j];
    for (std::size_t i = 0; i < kRows; ++i) {
      fuzzy_product[i] = fuzzy_product[i] + m[i * kColumns + j] * x[j];
      real_product[i] = real_product[i] + reals[i * kColumns + j] * x[j];
    }
  }
  for (const char* const label : {"cpu", "emulator"}) {
    CAPTURE(label);
    Desk desk(label);
    Calculator& calculator = desk.calculator;
    for (const Layout layout : {kNumbers, kCuts}) {
      const Array vector = calculator.array(x, layout), fuzzy_matrix = calculator.array(m, layout);
      const Array row = calculator.array(std::vector<Number>(m.begin(), m.begin() + kColumns), layout);
      const Matrix matrix = calculator.matrix(kRows, kColumns, reals);
      CHECK(all_same(calculator.sum(vector).numbers<Number>(), 1, [&](std::size_t) { return sum; }));
      CHECK(all_same(calculator.dot(vector, row).numbers<Number>(), 1, [&](std::size_t) { return dot; }));
      CHECK(all_same(calculator.product(matrix, vector).numbers<Number>(), kRows,
                     [&](std::size_t i) { return real_product[i]; }));
      CHECK(all_same(calculator.product(fuzzy_matrix, vector).numbers<Number>(), kRows,
                     [&](std::size_t i) { return fuzzy_product[i]; }));
    }
  }
  Desk desk("cpu");
  const Array vector = desk.calculator.array(x);
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
