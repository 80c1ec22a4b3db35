#include "heddle/runtime/data/scaling.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "heddle/kernels/error.hpp"

namespace heddle {
namespace {

TEST_CASE("none, minmax and zscore map the training rows as they say, and back") {
  std::mt19937 random(std::random_device{}());
  std::normal_distribution<float> normal(1000.0F, 3.0F);
  constexpr std::int64_t kColumns = 5, kRows = 400;
  std::vector<float> values(kColumns * kRows);
  for (float& value : values) value = normal(random);
  for (const Scale kind : {Scale::none, Scale::minmax, Scale::zscore}) {
    const Scaling scaling = fit_scaling(kind, values, kColumns);
    CHECK(scaling.columns() == kColumns);
    const std::vector<float> scaled = scaling.apply(values), back = scaling.invert(scaled);
    for (std::size_t i = 0; i < values.size(); ++i) CHECK(back[i] == doctest::Approx(values[i]).epsilon(1e-6));
    double low = 1e30, high = -1e30, sum = 0.0, squares = 0.0;
    for (std::size_t i = 2; i < scaled.size(); i += kColumns) {
      low = std::min<double>(low, scaled[i]);
      high = std::max<double>(high, scaled[i]);
      sum += scaled[i];
      squares += static_cast<double>(scaled[i]) * scaled[i];
    }
    if (kind == Scale::none) CHECK(scaled == values);
    if (kind == Scale::minmax) {
      CHECK(low == 0.0);
      CHECK(high == 1.0);
    }
    if (kind == Scale::zscore) {
      CHECK(sum / kRows == doctest::Approx(0.0).epsilon(1e-5));
      CHECK(squares / kRows == doctest::Approx(1.0));
      CHECK(spread(scaled, kColumns) == doctest::Approx(std::sqrt(5.0)));
    }
  }
}

TEST_CASE("a constant column becomes 0, whatever comes later") {
  const std::vector<float> values{0.1F, 1, 0.1F, 2, 0.1F, 4};
  for (const Scale kind : {Scale::minmax, Scale::zscore}) {
    const Scaling scaling = fit_scaling(kind, values, 2);
    CHECK(scaling.apply(values)[4] == 0.0F);
    const std::vector<float> later{-7.0F, 3.0F};
    CHECK(scaling.apply(later)[0] == 0.0F);
    CHECK(scaling.invert(scaling.apply(later))[0] == 0.1F);
  }
}

TEST_CASE("a value that leaves float32 is refused") {
  const std::vector<float> values{0.0F, 1e-30F}, later{1e30F};
  const Scaling scaling = fit_scaling(Scale::minmax, values, 1);
  CHECK_THROWS_AS((void)scaling.apply(later), Error);
}

TEST_CASE("names") {
  CHECK(parse_scale("zscore") == Scale::zscore);
  CHECK(parse_scale("unit") == Scale::unit);
  CHECK(text(Scale::minmax) == "minmax");
  CHECK_THROWS_WITH_AS((void)parse_scale("log"), "--scale: found 'log', expected none, minmax, zscore or unit", Error);
}

TEST_CASE("spread is the root of the summed variances") {
  const std::vector<float> values{0, 10, 2, 30};
  CHECK(spread(values, 2) == doctest::Approx(std::sqrt(1.0 + 100.0)));
  CHECK(spread(values, 4) == 0.0);
}

}  // namespace
}  // namespace heddle
