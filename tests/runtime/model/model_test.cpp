#include "heddle/runtime/model/model.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "runtime/model/sample_models.hpp"

namespace heddle {
namespace {

TEST_CASE("targets are one-hot, or standardised") {
  Model classes = sample_classifier();
  Dataset data;
  data.dim = 2;
  data.inputs = {0, 0, 1, 1};
  data.labels = {2, 0};
  CHECK(network_targets(classes, data) == std::vector<float>{0, 0, 1, 1, 0, 0});

  const Model curve = sample_regression();
  data.task = Task::regress;
  data.targets = {10, 7};
  CHECK(network_targets(curve, data) == std::vector<float>{5, 3.5F});  // offset 0, factor 1/2
  CHECK(classes.expectation().classes.size() == 3);
  CHECK(classes.expectation().targets_per_row == 0);
  CHECK(curve.expectation().targets_per_row == 1);
}

TEST_CASE("the largest output wins, ties the lowest") {
  const std::vector<float> outputs{1, 2, 0, 3, 3, 1, -1, -2, -1};
  CHECK(predicted_classes(outputs, 3) == std::vector<std::int32_t>{1, 0, 0});
}

TEST_CASE("a model whose parts do not fit is refused") {
  CHECK_NOTHROW(check(sample_classifier(), "f"));
  CHECK_NOTHROW(check(sample_regression(), "f"));
  const auto refused = [](const Model& start, const std::function<void(Model&)>& spoil) -> std::string {
    Model model = start;
    spoil(model);
    try {
      check(model, "f");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::input);
      return error.what();
    }
    return "";
  };
  const Model model = sample_classifier();
  CHECK(refused(model, [](Model& m) { m.network.widths[3] = 0.0F; }) ==
        "f: found a width of 0.000000, expected widths above 0");
  CHECK(refused(model, [](Model& m) { m.network.widths.pop_back(); }) == "f: found 7 widths, expected 8");
  CHECK(refused(model, [](Model& m) { m.network.consequents.push_back(1); }) == "f: found 13 consequents, expected 12");
  CHECK(refused(model, [](Model& m) { m.network.centres[1] = std::nanf(""); }) ==
        "f: found nan at centre 2, expected a finite number");
  CHECK(refused(model, [](Model& m) { m.inputs.factor[0] = std::numeric_limits<double>::infinity(); }) ==
        "f: found inf at input factor 1, expected a finite number");
  CHECK(refused(model, [](Model& m) { m.inputs.offset.clear(); }) == "f: found 0 input offsets, expected 2");
  CHECK(refused(model, [](Model& m) { m.classes.pop_back(); }) == "f: found 2 classes, expected 3");
  CHECK(refused(model, [](Model& m) { m.classes[0] = m.classes[1]; }) ==
        "f: found a class twice, expected each class once");
  CHECK(refused(model, [](Model& m) { m.input_names = {"a"}; }) == "f: found 1 input names, expected 2");
  CHECK_FALSE(refused(model, [](Model& m) { m.hyperparameters.threshold = 1.5; }).empty());
  CHECK_FALSE(refused(model, [](Model& m) { m.hyperparameters.overlap = std::nan(""); }).empty());
  CHECK_FALSE(refused(model, [](Model& m) { m.training.epochs = -1; }).empty());
  CHECK_FALSE(refused(model, [](Model& m) { m.training.log_threshold = 1.0; }).empty());
  CHECK_FALSE(refused(model, [](Model& m) { m.training.last->dim = 1; }).empty());
  CHECK_FALSE(refused(sample_regression(), [](Model& m) { m.targets = {}; }).empty());
}

}  // namespace
}  // namespace heddle
