#include "heddle/runtime/model/model.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <variant>

#include "heddle/runtime/model/rule_base.hpp"
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
  const auto own = [](Model& m) -> SonfinModel& { return std::get<SonfinModel>(m.network); };
  const Model model = sample_classifier();
  CHECK(refused(model, [&](Model& m) { own(m).network.widths[3] = 0.0F; }) ==
        "f: found 0 at width 4, expected a number whose size is from 1e-19 to 1e+19");
  CHECK(refused(model, [&](Model& m) { own(m).network.widths[3] = -1.0F; }) ==
        "f: found a width of -1, expected widths above 0");
  CHECK_FALSE(refused(model, [&](Model& m) { own(m).network.widths[0] = 1e30F; }).empty());
  CHECK_FALSE(refused(model, [&](Model& m) { own(m).network.widths[0] = 1e-30F; }).empty());
  CHECK_FALSE(refused(model, [&](Model& m) { own(m).network.centres[0] = 3e38F; }).empty());
  CHECK_FALSE(refused(model, [&](Model& m) { own(m).network.consequents[0] = 1e31F; }).empty());
  CHECK_FALSE(refused(model, [&](Model& m) { own(m).last->widths[0] = 1e30F; }).empty());
  CHECK_FALSE(refused(model, [&](Model& m) { m.inputs.factor[0] = 1e-300; }).empty());
  CHECK_FALSE(refused(model, [&](Model& m) { m.inputs.offset[0] = 1e300; }).empty());
  CHECK_FALSE(refused(model, [&](Model& m) { own(m).hyperparameters.first_width = 1e31; }).empty());
  CHECK_FALSE(refused(model, [&](Model& m) { m.training.partial_loss = std::nan(""); }).empty());
  CHECK_FALSE(refused(model, [&](Model& m) { m.training.best_epoch = m.training.epochs + 1; }).empty());
  CHECK(refused(model, [&](Model& m) { own(m).network.widths.pop_back(); }) == "f: found 7 widths, expected 8");
  CHECK(refused(model, [&](Model& m) { own(m).network.consequents.push_back(1); }) ==
        "f: found 13 consequents, expected 12");
  CHECK(refused(model, [&](Model& m) { own(m).network.centres[1] = std::nanf(""); }) ==
        "f: found nan at centre 2, expected a finite number");
  CHECK(refused(model, [&](Model& m) { m.inputs.factor[0] = std::numeric_limits<double>::infinity(); }) ==
        "f: found inf at input factor 1, expected a finite number");
  CHECK(refused(model, [&](Model& m) { m.inputs.offset.clear(); }) == "f: found 0 input offsets, expected 2");
  CHECK(refused(model, [&](Model& m) { m.classes.pop_back(); }) == "f: found 2 classes, expected 3");
  CHECK(refused(model, [&](Model& m) { m.classes[0] = m.classes[1]; }) ==
        "f: found a class twice, expected each class once");
  CHECK(refused(model, [&](Model& m) { m.input_names = {"a"}; }) == "f: found 1 input names, expected 2");
  CHECK_FALSE(refused(model, [&](Model& m) { own(m).hyperparameters.threshold = 1.5; }).empty());
  CHECK_FALSE(refused(model, [&](Model& m) { own(m).hyperparameters.overlap = std::nan(""); }).empty());
  CHECK_FALSE(refused(model, [&](Model& m) { m.training.epochs = -1; }).empty());
  CHECK_FALSE(refused(model, [&](Model& m) { own(m).log_threshold = 1.0; }).empty());
  CHECK_FALSE(refused(model, [&](Model& m) { own(m).last->dim = 1; }).empty());
  CHECK_FALSE(refused(sample_regression(), [&](Model& m) { m.targets = {}; }).empty());

  const auto system = [](Model& m) -> TskModel& { return std::get<TskModel>(m.network); };
  const Model with_system = sample_system();
  CHECK_NOTHROW(check(with_system, "f"));
  CHECK(
      refused(with_system, [&](Model& m) { system(m).system.widths[1] = 0.0F; }).starts_with("f: found 0 at width 2"));
  CHECK(refused(with_system, [&](Model& m) { system(m).system.order = 0; }) == "f: found 8 consequents, expected 4");
  CHECK_FALSE(refused(with_system, [&](Model& m) { system(m).last->outputs = 1; }).empty());
  CHECK_FALSE(refused(with_system, [&](Model& m) { system(m).last = tsk::System{1, 2, 0, {1}, {1}, {1, 1}}; }).empty());
  CHECK_FALSE(refused(with_system, [&](Model& m) { system(m).antecedents.back() = -1.0; }).empty());
  CHECK_FALSE(refused(with_system, [&](Model& m) { system(m).adaptation.recent[4] = NAN; }).empty());
}

TEST_CASE("with inputs up to the largest allowed float32 holds the distance to every rule") {
  for (const std::int64_t dim : {1, 16, 617}) {
    for (const float width : {1e-18F, 0.001F, 1.0F, 1e18F}) {
      CAPTURE(dim);
      CAPTURE(width);
      const double largest = largest_input(static_cast<double>(width), dim);
      float sum = 0.0F;
      for (std::int64_t j = 0; j < dim; ++j) {
        const float u = (static_cast<float>(largest) - static_cast<float>(-largest)) / width;
        sum += u * u;
      }
      CHECK(std::isfinite(sum));
    }
  }
  Model model = sample_classifier();
  Dataset data;
  data.source = "rows";
  data.dim = 2;
  data.inputs = {0, 0, 3e38F, 1};
  CHECK_THROWS_WITH_AS((void)network_inputs(model, data), doctest::Contains("rows: found 3e+38 in row 2, number 1"),
                       Error);
  data.inputs[2] = 100.0F;
  CHECK(network_inputs(model, data).size() == 4);
}

}  // namespace
}  // namespace heddle
