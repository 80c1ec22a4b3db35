#include "heddle/runtime/train/metrics.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <span>
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

/// Rows with labels or targets: `count` of them from `first` on.
Dataset some_rows(Task task, std::span<const float> targets, std::size_t first, std::size_t count) {
  Dataset data;
  data.task = task;
  data.dim = 1;
  data.inputs.assign(count, 0.0F);
  if (task == Task::classify) {
    data.classes = {"a", "b", "c"};
    for (std::size_t i = first; i < first + count; ++i) data.labels.push_back(static_cast<std::int32_t>(i % 3));
  } else {
    data.targets_per_row = 1;
    data.targets.assign(targets.begin() + static_cast<std::ptrdiff_t>(first),
                        targets.begin() + static_cast<std::ptrdiff_t>(first + count));
  }
  return data;
}

TEST_CASE("running metrics of parts are those of the whole, after every part") {
  const unsigned seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937 random(seed);
  std::normal_distribution<float> deviation(0.0F, 1.0F);
  constexpr std::size_t kRows = 97;
  for (const Task task : {Task::classify, Task::regress}) {
    Model model;
    model.task = task;
    const std::size_t outputs_per_row = task == Task::classify ? 3 : 1;
    model.network = MlpModel::untaught(1, static_cast<int>(outputs_per_row));
    if (task == Task::classify) model.classes = {"a", "b", "c"};
    if (task == Task::regress) model.targets = {Scale::none, {0}, {1}};
    // Far from 0, where a difference of sums of squares has no digit left in float64.
    std::vector<float> targets(kRows), outputs(kRows * outputs_per_row);
    for (float& target : targets) target = 1e6F + deviation(random);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      outputs[i] = deviation(random) + (task == Task::regress ? targets[i] : 0.0F);
    }
    RunningMetrics running;
    for (std::size_t first = 0; first < kRows;) {
      const std::size_t count = std::min<std::size_t>(1 + random() % 11, kRows - first), all = first + count;
      running.add(model, some_rows(task, targets, first, count),
                  std::span(outputs).subspan(first * outputs_per_row, count * outputs_per_row));
      first = all;
      const Metrics found = running.metrics();
      const Metrics whole =
          metrics(model, some_rows(task, targets, 0, all), std::span(outputs).first(all * outputs_per_row));
      CHECK(found.rows == static_cast<std::int64_t>(all));
      CHECK(found.accuracy == whole.accuracy);
      CHECK(found.confusion == whole.confusion);
      CHECK(found.macro_f1 == whole.macro_f1);
      if (task == Task::classify) {
        CHECK(std::accumulate(found.confusion.begin(), found.confusion.end(), std::int64_t{0}) == found.rows);
        continue;
      }
      long double mean = 0.0L, squares = 0.0L, deviations = 0.0L;
      for (std::size_t i = 0; i < all; ++i)
        mean += static_cast<long double>(targets[i]) / static_cast<long double>(all);
      for (std::size_t i = 0; i < all; ++i) {
        const auto target = static_cast<long double>(targets[i]);
        squares += (static_cast<long double>(outputs[i]) - target) * (static_cast<long double>(outputs[i]) - target);
        deviations += (target - mean) * (target - mean);
      }
      REQUIRE(found.targets.size() == 1);
      CHECK(found.targets[0].rmse ==
            doctest::Approx(static_cast<double>(std::sqrt(squares / static_cast<long double>(all)))).epsilon(1e-12));
      const bool constant = std::all_of(targets.begin(), targets.begin() + static_cast<std::ptrdiff_t>(all),
                                        [&](float target) { return target == targets.front(); });
      CHECK(found.targets[0].r2.has_value() == !constant);
      if (!constant) {
        CHECK(1.0 - *found.targets[0].r2 == doctest::Approx(static_cast<double>(squares / deviations)).epsilon(1e-8));
      }
    }
  }
}

}  // namespace
}  // namespace heddle
