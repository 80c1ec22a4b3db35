#include "heddle/bench/tsk/truck.hpp"

#include <doctest/doctest.h>

#include <cmath>

namespace heddle::bench {
namespace {

TEST_CASE("truck: where one rule fires the steering is the middle of its set") {
  CHECK(truck_steering(50.0, 90.0) == doctest::Approx(0.0).scale(1.0));  // centre and vertical: zero
  CHECK(truck_steering(100.0, 90.0) == doctest::Approx(15.0));           // right and vertical: positive medium
  CHECK(truck_steering(0.0, -90.0) == doctest::Approx(6.0));             // left and right below: positive small
  CHECK(truck_steering(0.0, 90.0) == doctest::Approx(-15.0));
}

TEST_CASE("truck: mirrored at the vertical it steers the other way, within 30 degrees") {
  for (int i = 0; i < 28; ++i) {
    for (int j = 0; j < 32; ++j) {
      const double x = 3.7 * i, phi = 11.3 * j - 90.0;
      const double steering = truck_steering(x, phi);
      CHECK(std::abs(steering) < 30.0);
      CHECK(truck_steering(100.0 - x, 180.0 - phi) == doctest::Approx(-steering).scale(1.0));
    }
  }
}

}  // namespace
}  // namespace heddle::bench
