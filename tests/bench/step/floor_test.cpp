#include "heddle/bench/step/floor.hpp"

#include <doctest/doctest.h>

#include "heddle/kernels/sonfin/train.hpp"

namespace heddle::bench {
namespace {

const DeviceIdentity kFloorDevice{.backend = "cuda",
                                  .name = "test",
                                  .architecture = "9.0",
                                  .units = 100,
                                  .memory_gib = 140,
                                  .cache_bytes = 50 << 20,
                                  .local_bytes = 227 << 10};

Limits round_figures() {
  return {.operations_per_microsecond = 12e6,
          .cache_bytes_per_microsecond = 4e6,
          .memory_bytes_per_microsecond = 2e6,
          .launch_microseconds = 3.0,
          .node_microseconds = 0.5,
          .exchanges = {{.link = "block", .blocks = 1, .microseconds = 0.05},
                        {.link = "cluster", .blocks = 10, .microseconds = 0.25},
                        {.link = "grid", .blocks = 100, .microseconds = 1.0}}};
}

Floor floor_of(std::int64_t rules, std::int64_t dim) {
  return training_floor(round_figures(), sonfin::train_family(), kFloorDevice, sonfin::problem(rules, dim, 1));
}

TEST_CASE("the floor takes the cheapest link whose multiprocessors can hold the parameters and share the work") {
  // 12 operations a task and 6 a consequent; one of 100 multiprocessors does 0.12e6 of them in a microsecond.
  const Floor small = floor_of(32, 16);
  CHECK(small.link == "block");
  CHECK(small.microseconds == doctest::Approx(0.05 + (12.0 * 512 + 6 * 32) / 0.12e6));
  // On one multiprocessor the arithmetic alone would take longer.
  const Floor middle = floor_of(256, 64);
  CHECK(middle.link == "cluster");
  CHECK(middle.microseconds == doctest::Approx(0.25 + (12.0 * 256 * 64 + 6 * 256) / 1.2e6));
  const Floor large = floor_of(1024, 1024);
  CHECK(large.link == "grid");
  CHECK(large.exchange == 1.0);
}

TEST_CASE("what does not fit on chip moves through memory, at the rate of where it lies") {
  const Floor beyond = floor_of(8192, 1024);
  CHECK(beyond.link == "memory");
  CHECK(beyond.microseconds == doctest::Approx((16.0 * 8192 * 1024 + 8 * 8192) / 2e6 + 0.5));
}

}  // namespace
}  // namespace heddle::bench
