// Sums and products of arrays against exact ones, on the host.
#include "heddle/kernels/fuzzy/sums.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "exact_interval.hpp"
#include "heddle/kernels/fuzzy/sum_reference.hpp"
#include "heddle/kernels/fuzzy/sum_workload.hpp"
#include "random_numbers.hpp"
#include "sample.hpp"

namespace heddle::test {
namespace {

using fuzzy::ArrayShape;
using fuzzy::Encoding;
using fuzzy::LowerUpper;
using fuzzy::MidpointRadius;
using fuzzy::NumberKind;
using fuzzy::Traits;

constexpr int kTermCuts = 3;
/// A number alone; fewer terms than chains; a block and parts of one; more than one block of blocks would be too slow.
constexpr std::array kCounts{1, 2, 31, 33, 2047, 2048, 2049, 5000};

template <class T, int cuts>
Encoding encoding_of(const LowerUpper<T, cuts>&) {
  return Encoding::lower_upper;
}
template <class T, int cuts>
Encoding encoding_of(const MidpointRadius<T, cuts>&) {
  return Encoding::midpoint_radius;
}

template <class Number>
ArrayShape shape(std::int64_t numbers, fuzzy::Layout layout) {
  return {.encoding = encoding_of(Number()),
          .numbers = numbers,
          .cuts = kTermCuts,
          .bits = 8 * static_cast<std::int64_t>(sizeof(typename Number::Real)),
          .layout = layout};
}

template <class Number>
Number number_at(const ArrayShape& shape, const std::vector<std::byte>& array, std::int64_t i) {
  using T = typename Number::Real;
  const auto* reals = reinterpret_cast<const T*>(array.data());
  std::array<T, sizeof(Number) / sizeof(T)> components{};
  for (std::size_t c = 0; c < components.size(); ++c) {
    components[c] = reals[shape.place(i, static_cast<std::int64_t>(c))];
  }
  Number number;
  if constexpr (sizeof(Number) == 2 * kTermCuts * sizeof(T)) {
    for (std::size_t cut = 0; cut < kTermCuts; ++cut) {
      number.set(static_cast<int>(cut), {components[2 * cut], components[2 * cut + 1]});
    }
  } else {
    std::memcpy(&number, components.data(), sizeof number);
  }
  return number;
}

/// Whether cut i of `found` contains `exact`.
template <class Number>
bool holds(const Number& found, int i, Exact& exact) {
  Exact cut(kExactBits);
  exact_cut(cut, found, i);
  return mpfr_cmp(cut.lower(), exact.lower()) <= 0 && mpfr_cmp(cut.upper(), exact.upper()) >= 0;
}

template <class Number>
bool is_whole(const Number& number, int i) {
  return std::isinf(number.cut(i).lower) && std::isinf(number.cut(i).upper);
}

/// Adds a x to `sum`, cut i of both.
template <class A, class Number>
void add_exactly(Exact& sum, const A& a, const Number& x, int i) {
  Exact left(kExactBits), right(kExactBits), product(kExactBits);
  exact_cut(right, x, i);
  if constexpr (std::is_floating_point_v<A>) {
    mpfi_set_d(left.get(), double{a});
  } else {
    exact_cut(left, a, i);
  }
  mpfi_mul(product.get(), left.get(), right.get());
  mpfi_add(sum.get(), sum.get(), product.get());
}

/// Cuts of `found` that neither contain the exact value nor are the whole line because a term is.
template <class Number, class Add>
long violations(const Number& found, const Add& add_all) {
  long wrong = 0;
  for (int i = 0; i < kTermCuts; ++i) {
    Exact exact(kExactBits);
    mpfi_set_d(exact.get(), 0.0);
    add_all(exact, i);
    const bool unknown = mpfr_nan_p(exact.lower()) != 0 || mpfr_nan_p(exact.upper()) != 0;
    if (unknown ? !is_whole(found, i) : !holds(found, i, exact)) ++wrong;
  }
  return wrong;
}

/// Equal component by component; zeros of either sign are equal, and so is what is no number.
template <class Number>
bool same(const Number& a, const Number& b) {
  using T = typename Number::Real;
  constexpr std::size_t kComponents = sizeof(Number) / sizeof(T);
  std::array<T, kComponents> left{}, right{};
  std::memcpy(left.data(), &a, sizeof a);
  std::memcpy(right.data(), &b, sizeof b);
  return std::ranges::equal(left, right, [](T x, T y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

}  // namespace

TEST_CASE_TEMPLATE("products for either sign leave what selections leave", T, float, double) {
  using Number = LowerUpper<T, kTermCuts>;
  constexpr int kCount = 2000;
  const ArrayShape terms = shape<Number>(kCount, fuzzy::kNumbers);
  for (const NumberKind kind : {NumberKind::usual, NumberKind::hostile}) {
    const auto numbers = fuzzy::random_terms(terms, sample_seed(), kind, kCount);
    const auto matrix = fuzzy::random_matrix(1, kCount, sizeof(T) == 8, sample_seed() + 1, kind, 1);
    const auto* const elements = reinterpret_cast<const T*>(matrix.data());
    Number selected, multiplied;
    clear(selected);
    clear(multiplied);
    int negative = 0;
    for (int n = 0; n < kCount; ++n) {
      const Number x = number_at<Number>(terms, numbers, n);
      negative += elements[n] < T(0) ? 1 : 0;
      add_usual_product(selected, elements[n], x);
      fuzzy::add_usual_product<kTermCuts - 1>(multiplied, elements[n], x);
      REQUIRE(same(multiplied, selected));
      if (!has_numbers(selected)) {
        clear(selected);
        clear(multiplied);
      }
    }
    CHECK(negative > kCount / 10);
  }
}

TEST_CASE_TEMPLATE("usual products leave numbers only where they are right", Number, LowerUpper<double, kTermCuts>,
                   LowerUpper<float, kTermCuts>, MidpointRadius<double, kTermCuts>, MidpointRadius<float, kTermCuts>) {
  using T = typename Number::Real;
  constexpr int kCount = 4000;
  const ArrayShape terms = shape<Number>(kCount, fuzzy::kNumbers);
  const auto numbers = fuzzy::random_terms(terms, sample_seed(), NumberKind::hostile, kCount);
  const auto others = fuzzy::random_terms(terms, sample_seed() + 1, NumberKind::hostile, kCount);
  const auto matrix = fuzzy::random_matrix(1, kCount, sizeof(T) == 8, sample_seed() + 2, NumberKind::hostile, 1);
  const auto* const reals = reinterpret_cast<const T*>(matrix.data());
  const auto compare = [&](const auto& factor) {
    Number usual, defined;
    clear(usual);
    clear(defined);
    int right = 0, wrong = 0;
    for (int n = 0; n < kCount; ++n) {
      const Number x = number_at<Number>(terms, numbers, n);
      add_usual_product(usual, factor(n), x);
      add_product(defined, factor(n), x);
      if (has_numbers(usual)) {
        ++right;
        REQUIRE(same(usual, defined));
        continue;
      }
      ++wrong;
      // Nothing that is added makes a number of it again.
      add_usual_product(usual, factor(n), Number::crisp(T(1)));
      REQUIRE(!has_numbers(usual));
      clear(usual);
      clear(defined);
    }
    CHECK(right > kCount / 2);
    return wrong;
  };
  CHECK(compare([&](int n) { return n % 3 == 0 ? T(0) : reals[n]; }) > 0);
  compare([&](int n) { return n % 3 == 0 ? Number::crisp(T(0)) : number_at<Number>(terms, others, n); });
}

TEST_CASE_TEMPLATE("sums and dot products contain the exact ones", Number, LowerUpper<double, kTermCuts>,
                   LowerUpper<float, kTermCuts>, MidpointRadius<double, kTermCuts>, MidpointRadius<float, kTermCuts>) {
  for (const int count : kCounts) {
    for (const NumberKind kind : {NumberKind::usual, NumberKind::hostile}) {
      for (const fuzzy::Layout layout : {fuzzy::kNumbers, fuzzy::kCuts}) {
        CAPTURE(count);
        CAPTURE(static_cast<int>(kind));
        const ArrayShape terms = shape<Number>(count, layout), one = shape<Number>(1, layout);
        const auto x = fuzzy::random_terms(terms, sample_seed(), kind, count);
        const auto y = fuzzy::random_terms(terms, sample_seed() + 1, kind, count);
        const auto sum = number_at<Number>(one, fuzzy::sum_of(terms, x), 0);
        const auto dot = number_at<Number>(one, fuzzy::dot_product(terms, x, y), 0);
        const Number unit = Number::crisp(1);
        CHECK(violations(sum, [&](Exact& exact, int i) {
                for (int n = 0; n < count; ++n) add_exactly(exact, unit, number_at<Number>(terms, x, n), i);
              }) == 0);
        CHECK(violations(dot, [&](Exact& exact, int i) {
                for (int n = 0; n < count; ++n) {
                  add_exactly(exact, number_at<Number>(terms, x, n), number_at<Number>(terms, y, n), i);
                }
              }) == 0);
        // The innermost cut remains bounded, and is not much wider than its terms: the sums say something.
        CHECK_FALSE(is_whole(sum, kTermCuts - 1));
        CHECK_FALSE(is_whole(dot, kTermCuts - 1));
        if (count == 1) {
          const Number only = number_at<Number>(terms, x, 0);
          for (int i = 0; i < kTermCuts; ++i) {
            CHECK(sum.cut(i).lower == only.cut(i).lower);
            CHECK(sum.cut(i).upper == only.cut(i).upper);
          }
        }
      }
    }
  }
}

TEST_CASE_TEMPLATE("products of a matrix and a vector contain the exact ones", Number, LowerUpper<double, kTermCuts>,
                   LowerUpper<float, kTermCuts>, MidpointRadius<double, kTermCuts>, MidpointRadius<float, kTermCuts>) {
  using T = typename Number::Real;
  constexpr std::int64_t rows = 3, columns = 2100;
  for (const NumberKind kind : {NumberKind::usual, NumberKind::hostile}) {
    const ArrayShape vector = shape<Number>(columns, fuzzy::kCuts), result = shape<Number>(rows, fuzzy::kCuts);
    const ArrayShape elements = shape<Number>(rows * columns, fuzzy::kCuts);
    const auto x = fuzzy::random_terms(vector, sample_seed(), kind, columns);
    const auto crisp = fuzzy::random_matrix(rows, columns, sizeof(T) == 8, sample_seed() + 1, kind, rows);
    const auto wide = fuzzy::random_terms(elements, sample_seed() + 2, kind, rows * columns);
    const auto of_crisp = fuzzy::matrix_vector_product(fuzzy::MatrixKind::crisp, rows, crisp, vector, x);
    const auto of_wide = fuzzy::matrix_vector_product(fuzzy::MatrixKind::fuzzy, rows, wide, vector, x);
    for (std::int64_t row = 0; row < rows; ++row) {
      CHECK(violations(number_at<Number>(result, of_crisp, row), [&](Exact& exact, int i) {
              for (std::int64_t n = 0; n < columns; ++n) {
                const T a = reinterpret_cast<const T*>(crisp.data())[row * columns + n];
                if (a != T(0)) add_exactly(exact, a, number_at<Number>(vector, x, n), i);
              }
            }) == 0);
      CHECK(violations(number_at<Number>(result, of_wide, row), [&](Exact& exact, int i) {
              for (std::int64_t n = 0; n < columns; ++n) {
                add_exactly(exact, number_at<Number>(elements, wide, row * columns + n),
                            number_at<Number>(vector, x, n), i);
              }
            }) == 0);
    }
  }
}

TEST_CASE_TEMPLATE("a sum that overflows on the way is the whole line", Number, LowerUpper<double, 1>,
                   LowerUpper<float, 1>, MidpointRadius<double, 1>, MidpointRadius<float, 1>) {
  using T = typename Number::Real;
  ArrayShape terms = shape<Number>(3, fuzzy::kNumbers);
  terms.cuts = 1;
  // Two chains and their sum: the largest numbers are added first, and the third would bring the sum back.
  const T largest = Traits<T>::largest;
  const std::vector<T> x = sizeof(Number) == 2 * sizeof(T) && terms.encoding == Encoding::lower_upper
                               ? std::vector<T>{largest, largest, -largest, -largest, largest, largest}
                               : std::vector<T>{largest, 0, -largest, 0, largest, 0};
  std::vector<std::byte> bytes(x.size() * sizeof(T));
  std::memcpy(bytes.data(), x.data(), bytes.size());
  const std::vector<std::byte> sum = fuzzy::sum_of(terms, bytes);
  std::array<T, 2> found{};
  std::memcpy(found.data(), sum.data(), sizeof found);
  CHECK(std::isinf(found[1]));
}

}  // namespace heddle::test
