#include "heddle/kernels/sonfin/network.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

namespace heddle::sonfin {
namespace {

TEST_CASE("control carries the options in float32") {
  Hyperparameters options;
  options.first_width = 2.0;
  const Control scaled = control(options, 77);
  CHECK(scaled.consequent_rate == 0.3F);
  CHECK(scaled.log_threshold == doctest::Approx(std::log(0.5)));
  CHECK(scaled.first_width == doctest::Approx(0.6 * 2.0));
  CHECK(scaled.negligible_gradient == std::ldexp(1.0F, -40));
  CHECK(scaled.plain_step == 0);
  CHECK(scaled.squared_width == 0);
  CHECK(scaled.end == 77);

  options.step = Step::plain;
  options.width = Width::squared;
  options.threshold = 0.0;
  options.first_width = 0.0;  // all inputs constant
  const Control plain = control(options, 1);
  CHECK(plain.log_threshold == -std::numeric_limits<float>::infinity());
  CHECK(plain.first_width == 0.001F);
  CHECK(plain.negligible_gradient == doctest::Approx(std::ldexp(1e-6, -40)));
  CHECK(plain.plain_step == 1);
  CHECK(plain.squared_width == 1);
}

}  // namespace
}  // namespace heddle::sonfin
