#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "heddle/kernels/mlp/reference.hpp"
#include "heddle/kernels/mlp/rules.hpp"
#include "heddle/runtime/model/model_file.hpp"
#include "heddle/runtime/train/mlp_options.hpp"
#include "heddle/runtime/train/shuffle.hpp"
#include "heddle/runtime/train/trainer.hpp"
#include "heddle/runtime/train/training_data.hpp"
#include "runtime/device/many_cores.hpp"
#include "runtime/train/perceptron_training.hpp"
#include "runtime/train/synthetic.hpp"
#include "runtime/train/training_job.hpp"

namespace heddle {
namespace {

using test::cpu, test::job, test::mlp_of, test::Options, test::perceptrons, test::train_mlp;

std::string mlp_refusal(const Dataset& data, const Options& options, ErrorKind kind, const Model* resume = nullptr) {
  try {
    (void)train_mlp(data, options, {.resume = resume});
  } catch (const Error& error) {
    CHECK(error.kind() == kind);
    return error.what();
  }
  FAIL_CHECK("was not refused");
  return {};
}

const std::vector<Options>& rule_options() {
  static const std::vector<Options> all{{{"rule", "adam"}, {"batch", "16"}, {"weight-decay", "0.01"}},
                                        {{"rule", "plain"}, {"rate", "0.05"}, {"batch", "1"}, {"hidden", "tanh"}},
                                        {{"rule", "adaptive"}, {"hidden", "sigmoid"}, {"output", "sigmoid"}},
                                        {{"rule", "rprop"}, {"layers", "9,5"}},
                                        {{"rule", "plain"}, {"gradient", "sum"}, {"rate", "0.0001"}}};
  return all;
}

TEST_CASE("every rule of learning learns classes") {
  const Dataset data = test::clusters(400, 5, 3, 1), test = test::clusters(200, 5, 3, 2);
  for (Options options : rule_options()) {
    CAPTURE(options[0].second);
    options.emplace_back("epochs", options[0].second == "plain" || options[0].second == "adaptive" ? "200" : "60");
    const TrainingResult result = train_mlp(data, options, {.test = &test});
    CHECK(result.ending == Ending::completed);
    REQUIRE(result.test);
    CHECK(result.test->value > 0.75);
    CHECK(result.model.training.history.back().train_error < 0.5 * result.model.training.history.front().train_error);
  }
}

TEST_CASE("numbers are learnt in their own units, with linear and with logistic outputs") {
  const Dataset data = test::curves(400, 2, 3), test = test::curves(200, 2, 4);
  for (const char* output : {"linear", "sigmoid"}) {
    CAPTURE(output);
    const TrainingResult result =
        train_mlp(data, {{"output", output}, {"epochs", "150"}, {"rate", "0.01"}}, {.test = &test});
    REQUIRE(result.test);
    CHECK(result.test->value < 16.0);  // about 25 if nothing were learnt
    CHECK(result.model.targets.kind == (std::string(output) == "linear" ? Scale::zscore : Scale::minmax));
  }
}

TEST_CASE("training takes the steps of the reference: orders, batches, scaling and first weights included") {
  const Dataset data = test::clusters(50, 4, 3, 8);
  for (const char* hidden_layers : {"6", "5,3", ""}) {
    CAPTURE(hidden_layers);
    const Options options{{"rule", "plain"},  {"batch", "16"},           {"epochs", "3"},
                          {"hidden", "tanh"}, {"layers", hidden_layers}, {"rate", "0.5"}};
    const TrainingResult result = train_mlp(data, options);
    OptionValues values = job(perceptrons(), data, options).options;
    resolve_mlp_options(values, values, Task::classify);
    const MlpModel& own = mlp_of(result.model);
    const std::vector<float> first = first_weights(values, own.layers);
    mlp::Control control = mlp_control(values, 50, 3);
    mlp::Reference reference(own.layers, first, {}, mlp::first_progress());
    const LearningRows rows = learning_rows(result.model, data);
    while (reference.progress().epoch < 3) {
      const auto epoch = static_cast<std::uint64_t>(reference.progress().epoch) + 1;
      const std::vector<std::int32_t> order = permutation(50, 1, epoch);
      REQUIRE(reference.step({.rows = rows.rows, .targets = rows.targets, .order = order}, control));
    }
    double difference = 0.0, change = 0.0;
    for (std::size_t i = 0; i < first.size(); ++i) {
      difference += std::pow(reference.parameters()[i] - static_cast<double>(own.parameters[i]), 2.0);
      change += std::pow(reference.parameters()[i] - static_cast<double>(first[i]), 2.0);
    }
    CHECK(std::sqrt(difference / change) < 1e-4);
    CHECK(result.model.training.history[2].train_error == doctest::Approx(reference.errors()[2] / 100.0).epsilon(1e-5));
  }
}

TEST_CASE("no hidden layers are a linear or a logistic model, by every rule") {
  const Dataset data = test::clusters(200, 4, 2, 4);
  for (Options options : rule_options()) {
    CAPTURE(options[0].second);
    options.emplace_back("layers", "");
    options.emplace_back("epochs", "10");
    const TrainingResult result = train_mlp(data, options);
    CHECK(result.ending == Ending::completed);
    CHECK(mlp_of(result.model).parameters.size() == 2 * (4 + 1));
    CHECK(result.model.training.history.back().train_error < result.model.training.history.front().train_error);
  }
  // Least squares of one input and a line: its slope and height are known.
  Dataset line;
  line.source = "line";
  line.task = Task::regress;
  line.dim = line.targets_per_row = 1;
  for (int i = 0; i < 32; ++i) {
    line.inputs.push_back(static_cast<float>(i) / 16.0F - 1.0F);
    line.targets.push_back(3.0F * line.inputs.back() - 0.5F);
  }
  const TrainingResult fitted =
      train_mlp(line, {{"layers", ""}, {"scale", "none"}, {"target-scale", "none"}, {"rule", "plain"}, {"rate", "1"}});
  REQUIRE(mlp_of(fitted.model).parameters.size() == 2);
  CHECK(mlp_of(fitted.model).parameters[0] == doctest::Approx(3.0).epsilon(1e-4));
  CHECK(mlp_of(fitted.model).parameters[1] == doctest::Approx(-0.5).epsilon(1e-4));
}

TEST_CASE("a training that goes on from a file ends with the same bits, whatever the rule") {
  const Dataset data = test::clusters(90, 4, 3, 5, 0.1);
  for (Options options : rule_options()) {
    CAPTURE(options[0].second);
    for (const char* validation : {"0", "0.2"}) {
      options.emplace_back("validation", validation);
      Options whole = options, half = options;
      whole.emplace_back("epochs", "12");
      half.emplace_back("epochs", "5");
      const TrainingResult at_once = train_mlp(data, whole);
      const Model interrupted = decode_model(encode_model(train_mlp(data, half).model), "half");
      const TrainingResult resumed = train_mlp(data, {{"epochs", "12"}}, {.resume = &interrupted});
      CHECK(mlp_of(resumed.model).parameters == mlp_of(at_once.model).parameters);
      REQUIRE(mlp_of(resumed.model).last.has_value());
      CHECK(mlp_of(resumed.model).last->parameters == mlp_of(at_once.model).last->parameters);
      CHECK(mlp_of(resumed.model).last->state == mlp_of(at_once.model).last->state);
      CHECK(resumed.model.training.best_epoch == at_once.model.training.best_epoch);
      CHECK(resumed.model.training.history.back().train_error == at_once.model.training.history.back().train_error);
    }
  }
}

TEST_CASE("how often training reports changes no bit") {
  // Rows that no run, or no whole number of batches, takes at once.
  for (const auto& counts : std::vector<std::pair<int, std::string>>{{1100, "1"}, {150, "16"}, {150, "0"}}) {
    const int rows = counts.first;
    const std::string& batch = counts.second;
    CAPTURE(batch);
    const Dataset data = test::clusters(rows, 4, 3, 5, 0.1);
    const Options options{{"batch", batch}, {"epochs", "12"}, {"layers", "6"}};
    Options each = options, some = options, none = options;
    each.emplace_back("report", "1");
    some.emplace_back("report", "5");
    none.emplace_back("report", "12");
    const TrainingResult result = train_mlp(data, each);
    CHECK(mlp_of(train_mlp(data, some).model).parameters == mlp_of(result.model).parameters);
    CHECK(mlp_of(train_mlp(data, none).model).parameters == mlp_of(result.model).parameters);
  }
}

TEST_CASE("the same training gives the same bits, with one thread and with five") {
  const Dataset data = test::clusters(300, 20, 3, 9);
  const Options options{{"epochs", "3"}, {"layers", "40"}};
  test::ManyCores one(1), five(5);
  const auto weights = [&](Device& device) {
    return mlp_of(perceptrons().train(device, {}, job(perceptrons(), data, options)).model).parameters;
  };
  CHECK(weights(one) == weights(one));
  CHECK(weights(five) == weights(five));
}

TEST_CASE("training ends early: at an error in either unit, or without improvement on rows held back") {
  const Dataset data = test::clusters(300, 4, 3, 6, 0.3);
  const TrainingResult error = train_mlp(data, {{"target-error", "0.3"}});
  CHECK(error.ending == Ending::target_reached);
  CHECK(error.model.training.history.back().train_error <= 0.3);
  CHECK(error.model.training.epochs < 100);
  const TrainingResult rms = train_mlp(data, {{"target-rms", "0.2"}});
  CHECK(rms.ending == Ending::target_reached);
  // E is half the sum over 3 outputs, the published one half the root of the mean.
  CHECK(rms.model.training.history.back().train_error <= 0.5 * 3.0 * 0.4 * 0.4);
  const TrainingResult held_back = train_mlp(
      data, {{"validation", "0.3"}, {"patience", "5"}, {"layers", "200"}, {"epochs", "400"}, {"rate", "0.01"}});
  CHECK(held_back.ending == Ending::no_improvement);
  CHECK(held_back.model.training.epochs == held_back.model.training.best_epoch + 5);
  CHECK(mlp_of(held_back.model).parameters != mlp_of(held_back.model).last->parameters);
}

TEST_CASE("options that contradict each other, the data or the model are one line each") {
  const Dataset data = test::clusters(60, 3, 2, 5), numbers = test::curves(60, 2, 5);
  const auto names = [](const std::string& line, const std::string& option) {
    CAPTURE(line);
    CHECK(line.find("--" + option) != std::string::npos);
    CHECK(line.find('\n') == std::string::npos);
  };
  names(mlp_refusal(data, {{"layers", "1,2,3,4,5,6,7,8,9"}}, ErrorKind::usage), "layers");
  names(mlp_refusal(data, {{"layers", "65536,65536"}}, ErrorKind::usage), "layers");
  names(mlp_refusal(data, {{"rule", "rprop"}, {"batch", "10"}}, ErrorKind::usage), "batch");
  names(mlp_refusal(data, {{"rule", "adam"}, {"momentum", "0.5"}}, ErrorKind::usage), "momentum");
  names(mlp_refusal(data, {{"rule", "rprop"}, {"step-up", "0.5"}}, ErrorKind::usage), "step-up");
  names(mlp_refusal(data, {{"rule", "adaptive"}, {"first-step", "11"}}, ErrorKind::usage), "first-step");
  names(mlp_refusal(data, {{"rule", "rprop"}, {"smallest-step", "10"}, {"largest-step", "1"}}, ErrorKind::usage),
        "smallest-step");
  names(mlp_refusal(data, {{"rule", "rprop"}, {"rate", "0.5"}}, ErrorKind::usage), "rate");
  names(mlp_refusal(numbers, {{"output", "softmax"}}, ErrorKind::usage), "output");
  names(mlp_refusal(numbers, {{"output", "sigmoid"}, {"target-scale", "none"}}, ErrorKind::input), "target-scale");
  const Model taught = train_mlp(data, {{"epochs", "2"}, {"layers", "4"}}).model;
  names(mlp_refusal(data, {{"layers", "5"}, {"epochs", "3"}}, ErrorKind::usage, &taught), "layers");
  names(mlp_refusal(data, {{"rule", "rprop"}, {"epochs", "3"}}, ErrorKind::usage, &taught), "rule");
  CHECK_THROWS_AS(OptionValues(perceptrons().options()).set("layers", "0"), Error);
  CHECK_THROWS_AS(OptionValues(perceptrons().options()).set("layers", "10000000"), Error);
}

TEST_CASE("a device without kernels for a network is refused, and another one is used if none is named") {
  const auto device = open_device_for(perceptrons(), "");
  for (const KernelFamily* family : perceptrons().families()) CHECK(family->supports(device->identity().backend));
  CHECK(open_device_for(perceptrons(), "cpu")->label() == "cpu");
}

}  // namespace
}  // namespace heddle
