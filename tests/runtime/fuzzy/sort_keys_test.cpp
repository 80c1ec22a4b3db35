#include "heddle/runtime/fuzzy/sort_keys.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "heddle/kernels/fuzzy/measures.hpp"
#include "heddle/kernels/fuzzy/shapes.hpp"
#include "runtime/data/data_folder.hpp"

namespace heddle::fuzzy {
namespace {

TEST_CASE_TEMPLATE("measures of numbers whose cuts are counted at run time are those of the number types", Number,
                   LowerUpper<double, 3>, LowerUpper<float, 3>, MidpointRadius<double, 3>, MidpointRadius<float, 3>) {
  using T = typename Number::Real;
  const double level[] = {0.0, 0.25, 1.0};
  constexpr Encoding encoding = sizeof(Number) == 6 * sizeof(T) ? Encoding::lower_upper : Encoding::midpoint_radius;
  Numbers<T> numbers{.encoding = encoding, .cuts = 3, .values = {}};
  std::vector<Number> expected;
  for (int i = 0; i < 5; ++i) {
    const Number number = triangular<Number>(T(-i), T(1), T(2 + i), level);
    expected.push_back(number);
    for (int c = 0; c < 3; ++c) {
      if constexpr (encoding == Encoding::lower_upper) {
        numbers.values.insert(numbers.values.end(), {number.lower[c], number.upper[c]});
      } else {
        if (c == 0) numbers.values.push_back(number.midpoint);
        numbers.values.push_back(number.radius[c]);
      }
    }
  }
  const auto centroids = measure_all(numbers, level, Measure::centroid);
  const auto means = measure_all(numbers, level, Measure::mean_of_maxima);
  const auto ranks = measure_all(numbers, level, Measure::ranking_value);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(centroids[i] == static_cast<T>(centroid(expected[i], level)));
    CHECK(means[i] == static_cast<T>(mean_of_maxima(expected[i])));
    CHECK(ranks[i] == static_cast<T>(ranking_value(expected[i], level)));
  }
}

TEST_CASE("without levels they are in even steps; a cut that is the whole line leaves no measure") {
  const Numbers<double> numbers{.cuts = 2,
                                .values = {-9, 1, 0, 1, -Traits<double>::infinity, Traits<double>::infinity, 0, 1}};
  const double even[] = {0.0, 1.0};
  const auto with = measure_all(numbers, even, Measure::ranking_value);
  const auto without = measure_all(numbers, {}, Measure::ranking_value);
  CHECK(with[0] == -1.75);
  CHECK(without[0] == -1.75);
  CHECK(!std::isfinite(without[1]));
}

TEST_CASE("keys are rounded to the type of the numbers; beyond it they are infinite") {
  const DataFolder folder;
  const auto file = folder.write("keys", "0.1\n1e39\n\"-2\"\n-inf\n1e999\n");
  CHECK(read_keys<double>(file) ==
        std::vector<double>{0.1, 1e39, -2, -Traits<double>::infinity, Traits<double>::infinity});
  CHECK(read_keys<float>(file) ==
        std::vector<float>{0.1F, Traits<float>::infinity, -2, -Traits<float>::infinity, Traits<float>::infinity});
}

}  // namespace
}  // namespace heddle::fuzzy
