// Checks of operations on arrays of fuzzy numbers, for any device.
#pragma once

#include <doctest/doctest.h>

#include <cstddef>
#include <filesystem>
#include <limits>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "heddle/kernels/fuzzy/measures.hpp"
#include "heddle/kernels/fuzzy/shapes.hpp"
#include "heddle/runtime/fuzzy/calculator.hpp"
#include "temporary_folder.hpp"

namespace heddle::fuzzy {

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

/// Arrays go to a device, are computed with, and come back, in either layout.
template <class Number>
void check_map(const std::string& label) {
  constexpr std::size_t kCount = 131;
  const std::vector<Number> x = triangles<Number>(kCount, 1), y = triangles<Number>(kCount, 2);
  Desk desk(label);
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

/// Sums, dot products and products with matrices.
inline void check_sums(const std::string& label) {
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

/// Numbers are sorted by their keys.
inline void check_sort(const std::string& label) {
  using Number = MidpointRadius<float, 3>;
  constexpr std::size_t kCount = 300;
  const std::vector<Number> x = triangles<Number>(kCount, 5);
  const double level[] = {0.0, 0.5, 1.0};
  std::vector<float> keys;
  keys.reserve(kCount);
  for (const Number& number : x) keys.push_back(static_cast<float>(ranking_value(number, level)));
  Desk desk(label);
  const Sorted sorted = desk.calculator.sort(desk.calculator.array(x), keys);
  bool rising = true;
  for (std::size_t i = 1; i < kCount; ++i) {
    rising = rising && keys[sorted.positions[i - 1]] <= keys[sorted.positions[i]];
  }
  CHECK(rising);
  CHECK(all_same(sorted.numbers.numbers<Number>(), kCount, [&](std::size_t i) { return x[sorted.positions[i]]; }));
}

/// Numbers that the device has already, with gaps and in any order. `place(bytes)`: memory of the device with these
/// contents, for as long as the check lasts.
template <class T, class Place>
void check_given(Calculator& calculator, const Place& place) {
  constexpr std::int64_t kRows = 301, kColumns = 3, kSize = sizeof(T);
  const auto real = [](std::int64_t row, std::int64_t column) {  // of cuts that are nested
    return static_cast<T>(row % 17 - 8) + static_cast<T>(column) / T(4);
  };
  // Columns from the last to the first, each padded by two rows, with what is no number in between.
  std::vector<T> lower(static_cast<std::size_t>(kColumns * (kRows + 2)), std::numeric_limits<T>::quiet_NaN());
  std::vector<T> upper(static_cast<std::size_t>(kRows * (kColumns + 1)), std::numeric_limits<T>::quiet_NaN());
  for (std::int64_t i = 0; i < kRows; ++i) {
    for (std::int64_t c = 0; c < kColumns; ++c) {
      lower[static_cast<std::size_t>((kColumns - 1 - c) * (kRows + 2) + i)] = real(i, c);
      upper[static_cast<std::size_t>(i * (kColumns + 1) + c)] = real(i, 0) + T(4) - static_cast<T>(c);
    }
  }
  const auto at = [&](const std::vector<T>& values, std::size_t first) {
    return static_cast<const std::byte*>(place(std::as_bytes(std::span(values)))) + first * sizeof(T);
  };
  const GivenNumbers low{.address = at(lower, (kColumns - 1) * (kRows + 2)),
                         .rows = kRows,
                         .columns = kColumns,
                         .row_stride = kSize,
                         .column_stride = -kSize * (kRows + 2),
                         .bits = 8 * kSize};
  const GivenNumbers high{.address = at(upper, 0),
                          .rows = kRows,
                          .columns = kColumns,
                          .row_stride = kSize * (kColumns + 1),
                          .column_stride = kSize,
                          .bits = 8 * kSize};
  using Bounds = LowerUpper<T, kColumns>;
  const Array bounds = calculator.array(Encoding::lower_upper, low, high);
  CHECK(all_same(bounds.numbers<Bounds>(), kRows, [&](std::size_t i) {
    Bounds number;
    for (int c = 0; c < kColumns; ++c) {
      number.lower[c] = real(static_cast<std::int64_t>(i), c);
      number.upper[c] = real(static_cast<std::int64_t>(i), 0) + T(4) - static_cast<T>(c);
    }
    return number;
  }));
  // One midpoint for all: a stride of 0.
  const std::vector<T> middle{T(5)};
  const GivenNumbers one{.address = at(middle, 0), .rows = kRows, .bits = 8 * kSize};
  std::vector<T> half(static_cast<std::size_t>(kRows), T(1));
  const GivenNumbers radius{.address = at(half, kRows - 1), .rows = kRows, .row_stride = -kSize, .bits = 8 * kSize};
  using Radii = MidpointRadius<T, 1>;
  CHECK(all_same(calculator.array(Encoding::midpoint_radius, one, radius).numbers<Radii>(), kRows, [&](std::size_t) {
    return Radii{T(5), {T(1)}};
  }));
  // What is wrong is told as that of numbers from the host, the first of several.
  half[200] = half[7] = T(-1);
  const GivenNumbers negative{.address = at(half, 0), .rows = kRows, .row_stride = kSize, .bits = 8 * kSize};
  CHECK_THROWS_WITH_AS(static_cast<void>(calculator.array(Encoding::midpoint_radius, one, negative)),
                       "fuzzy array: number 7 has a radius below 0", Error);
  CHECK_THROWS_WITH_AS(static_cast<void>(calculator.array(Encoding::lower_upper, high, low)),
                       "fuzzy array: number 0 has a lower bound above the upper one", Error);
  CHECK_THROWS_AS(static_cast<void>(calculator.array(Encoding::lower_upper, low, radius)), Error);
  // A matrix, whose rows are those of its transpose's columns.
  GivenNumbers transposed = high;
  std::swap(transposed.rows, transposed.columns);
  std::swap(transposed.row_stride, transposed.column_stride);
  std::vector<Bounds> ones(static_cast<std::size_t>(kRows), Bounds::crisp(T(1)));
  const Array product = calculator.product(calculator.matrix(transposed), calculator.array(ones));
  const std::vector<Bounds> sums = product.numbers<Bounds>();
  T sum = 0;
  for (std::int64_t i = 0; i < kRows; ++i) sum += real(i, 0) + T(3);
  REQUIRE(sums.size() == 3);
  CHECK(sums[1].lower[0] == sum);
  GivenNumbers whole = high;
  ++whole.columns;  // the padding, too
  CHECK_THROWS_WITH_AS(static_cast<void>(calculator.matrix(whole)),
                       "matrix: found nan in row 0, column 3, expected a finite number", Error);
  // Keys.
  std::vector<T> keys(static_cast<std::size_t>(2 * kRows), std::numeric_limits<T>::quiet_NaN());
  for (std::size_t i = 0; i < kRows; ++i) keys[2 * i] = -static_cast<T>(i);
  const GivenNumbers given{.address = at(keys, 0), .rows = kRows, .row_stride = 2 * kSize, .bits = 8 * kSize};
  const Sorted sorted = calculator.sort(bounds, given);
  CHECK(sorted.positions.front() == kRows - 1);
  CHECK(sorted.positions.back() == 0);
  GivenNumbers few = given;
  --few.rows;
  CHECK_THROWS_WITH_AS(static_cast<void>(calculator.sort(bounds, few)),
                       "fuzzy sort: found 300 keys, expected one for each of 301 numbers", Error);
}

}  // namespace heddle::fuzzy
