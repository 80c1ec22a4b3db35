#include "heddle/bench/runs/training_sets.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "heddle/kernels/error.hpp"
#include "heddle/runtime/device/cpu/cpu_device.hpp"

namespace heddle::bench {
namespace {

TEST_CASE("every row of the long set makes a rule, as far as there are rules, so that a tenth of its rows makes all") {
  constexpr std::int64_t kSome = 60;
  const TrainingSet set = load_training_set("random-5000-long", ".", kSome);
  REQUIRE(set.rows.count() == kSome);
  CHECK(set.rows.dim == 5000);
  CHECK(set.rules == 949);
  const auto device = open_cpu_device();
  SonfinLearner learner(*device, {}, set.rows, set.rules, {});
  std::vector<std::int32_t> order(kSome);
  std::iota(order.begin(), order.end(), 0);
  const sonfin::Network none{.dim = set.rows.dim, .outputs = 1, .centres = {}, .widths = {}, .consequents = {}};
  learner.begin(none, sonfin::control(set.options, kSome), order, 0, 0.0);
  while (learner.advance()) {
  }
  CHECK(learner.rules() == kSome);
}

TEST_CASE("the long set is no part of the published table, and is named where another name is wrong") {
  CHECK(std::ranges::find(training_set_names(), "random-5000-long") == training_set_names().end());
  CHECK_THROWS_WITH_AS(static_cast<void>(load_training_set("random-7", ".")),
                       doctest::Contains("found set 'random-7', expected some of letter, "), Error);
  CHECK_THROWS_WITH_AS(static_cast<void>(load_training_set("random-7", ".")), doctest::Contains("random-5000-long"),
                       Error);
}

}  // namespace
}  // namespace heddle::bench
