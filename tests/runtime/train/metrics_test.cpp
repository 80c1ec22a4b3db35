#include "heddle/runtime/train/metrics.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle {
namespace {

TEST_CASE("metrics of classes, counted by hand") {
  Model model;
  model.network = MlpModel::untaught(1, 3);
  model.classes = {"a", "b", "c"};
  Dataset data;
  data.dim = 1;
  data.inputs = {0, 0, 0, 0, 0};
  data.labels = {0, 0, 1, 1, 1};
  data.classes = model.classes;
  // Predicted: a, b, b, b, a.
  const std::vector<float> outputs{1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 1, 0, 0};
  const Metrics found = metrics(model, data, outputs);
  CHECK(found.rows == 5);
  CHECK(found.accuracy == doctest::Approx(0.6));
  CHECK(found.confusion == std::vector<std::int64_t>{1, 1, 0, 1, 2, 0, 0, 0, 0});
  REQUIRE(found.classes.size() == 3);
  CHECK(*found.classes[0].precision == doctest::Approx(0.5));
  CHECK(*found.classes[0].recall == doctest::Approx(0.5));
  CHECK(*found.classes[1].precision == doctest::Approx(2.0 / 3.0));
  CHECK(*found.classes[1].recall == doctest::Approx(2.0 / 3.0));
  CHECK(found.classes[1].rows == 3);
  CHECK_FALSE(found.classes[2].precision.has_value());
  CHECK_FALSE(found.classes[2].recall.has_value());
  CHECK_FALSE(found.classes[2].f1.has_value());
  CHECK(*found.macro_f1 == doctest::Approx((0.5 + 2.0 / 3.0) / 2.0));
}

TEST_CASE("metrics of numbers are in the data's units") {
  Model model;
  model.task = Task::regress;
  model.network = MlpModel::untaught(1, 2);
  model.targets = {Scale::zscore, {10, 0}, {0.5, 1}};
  Dataset data;
  data.task = Task::regress;
  data.dim = 1;
  data.inputs = {0, 0};
  data.targets = {10, 5, 14, 5};
  data.targets_per_row = 2;
  data.target_names = {"price", "constant"};
  const std::vector<float> outputs{0, 5, 1, 6};  // 10, 5, 12, 6
  const Metrics found = metrics(model, data, outputs);
  REQUIRE(found.targets.size() == 2);
  CHECK(found.targets[0].name == "price");
  CHECK(found.targets[0].rmse == doctest::Approx(1.41421356));
  CHECK(*found.targets[0].r2 == doctest::Approx(0.5));
  CHECK(found.targets[1].rmse == doctest::Approx(0.70710678));
  CHECK_FALSE(found.targets[1].r2.has_value());
}

TEST_CASE("a constant target has no R2, whatever rounding makes of its mean") {
  Model model;
  model.task = Task::regress;
  model.network = MlpModel::untaught(1, 1);
  model.targets = {Scale::none, {0}, {1}};
  for (const float constant : {0.1F, 3.3F, 1e8F, 16777217.0F, -1e-30F}) {
    for (int rows = 1; rows < 30; ++rows) {
      CAPTURE(constant);
      CAPTURE(rows);
      const std::vector<float> all(static_cast<std::size_t>(rows), constant);
      Dataset data;
      data.task = Task::regress;
      data.dim = 1;
      data.inputs = data.targets = all;
      data.targets_per_row = 1;
      const Metrics found = metrics(model, data, std::vector<float>(all.size(), 0.0F));
      CHECK_FALSE(found.targets[0].r2.has_value());
      CHECK(found.targets[0].rmse == doctest::Approx(std::abs(constant)));
    }
  }
}

}  // namespace
}  // namespace heddle
