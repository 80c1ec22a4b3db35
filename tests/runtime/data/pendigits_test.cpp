// From the packed file to an accuracy: readers, scaling, targets and the float64 reference together.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <random>

#include "heddle/kernels/sonfin/reference.hpp"
#include "heddle/runtime/data/dataset.hpp"
#include "heddle/runtime/data/scaling.hpp"
#include "heddle/runtime/model/model.hpp"

namespace heddle {
namespace {

TEST_CASE("the reference learns handwritten digits in one pass") {
  const std::filesystem::path folder = HEDDLE_BENCH_DATA;
  const Dataset train = load_dataset(folder / "pendigits" / "pendigits.tra.gz");
  const Dataset test = load_dataset(folder / "pendigits" / "pendigits.tes.gz", {.expected = expectation(train)});
  REQUIRE(train.rows() == 7494);
  REQUIRE(test.rows() == 3498);
  REQUIRE(train.dim == 16);
  REQUIRE(train.classes == std::vector<std::string>{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"});

  Model model;
  model.network = SonfinModel::untaught(train.dim, train.outputs());
  model.inputs = fit_scaling(Scale::minmax, train.inputs, train.dim);
  const std::vector<float> rows = model.inputs.apply(train.inputs), targets = network_targets(model, train);
  sonfin::Hyperparameters options;
  options.max_rules = 100;
  options.first_width = spread(rows, train.dim);
  sonfin::Reference reference(train.dim, train.outputs(), options);

  std::vector<std::int64_t> order(7494);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(1));
  for (const std::int64_t row : order) {
    reference.learn({rows.data() + row * 16, 16}, {targets.data() + row * 10, 10});
  }
  CHECK(reference.rules() == 100);

  const std::vector<float> test_rows = model.inputs.apply(test.inputs);
  std::vector<float> outputs;
  for (std::int64_t row = 0; row < test.rows(); ++row) {
    for (const double y : reference.predict({test_rows.data() + row * 16, 16}))
      outputs.push_back(static_cast<float>(y));
  }
  const std::vector<std::int32_t> predicted = predicted_classes(outputs, 10);
  int right = 0;
  for (std::size_t row = 0; row < predicted.size(); ++row) right += predicted[row] == test.labels[row] ? 1 : 0;
  INFO(right, " of 3498 right");
  CHECK(right > 0.9 * 3498);
}

}  // namespace
}  // namespace heddle
