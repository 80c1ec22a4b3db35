// Inputs that are 0 in all rows take no part in the training of a perceptron, and it learns the same.
#include "heddle/runtime/train/active_inputs.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "heddle/kernels/arithmetic.hpp"
#include "heddle/kernels/mlp/reference.hpp"
#include "heddle/kernels/mlp/rules.hpp"
#include "heddle/runtime/model/model_file.hpp"
#include "heddle/runtime/train/mlp_options.hpp"
#include "heddle/runtime/train/mlp_weights.hpp"
#include "heddle/runtime/train/shuffle.hpp"
#include "heddle/runtime/train/training_data.hpp"
#include "runtime/train/perceptron_training.hpp"
#include "runtime/train/synthetic.hpp"
#include "runtime/train/training_job.hpp"

namespace heddle {
namespace {

using test::job, test::mlp_of, test::Options, test::perceptrons, test::train_mlp;

mlp::Layers network(std::int64_t inputs) { return mlp::layers(inputs, std::vector<std::int64_t>{2}, 1); }

/// `dim` inputs, of which `used` have numbers in every row, and all others 0.
std::vector<float> rows_with(std::int64_t rows, std::int64_t dim, const std::vector<std::int64_t>& used) {
  std::vector<float> all(at(rows * dim), 0.0F);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (const std::int64_t j : used) all[at(row * dim + j)] = static_cast<float>(row + j + 1);
  }
  return all;
}

TEST_CASE("inputs that are 0 in all rows are left out in groups") {
  const auto left = [](std::int64_t dim, const std::vector<std::int64_t>& used) {
    return ActiveInputs(network(dim), rows_with(3, dim, used)).layers().inputs();
  };
  CHECK(left(18, {1, 17}) == 2);
  CHECK(left(17, {0, 5}) == 17);  // 15 are 0
  CHECK(left(52, {0, 50}) == 4);  // 50 are 0
  CHECK(left(50, {0, 49}) == 2);
  CHECK(left(49, {0, 48}) == 17);
  // One stays where all are 0.
  CHECK(left(1, {}) == 1);
  CHECK(left(16, {}) == 16);
  CHECK(left(17, {}) == 1);
  CHECK(left(32, {}) == 16);
  CHECK(ActiveInputs(network(40)).all());
  CHECK(ActiveInputs(network(40)).layers().inputs() == 40);
  // A number in the last row is one, however small; a zero is one, whatever its sign.
  std::vector<float> rows = rows_with(100, 20, {0});
  rows[20 * 50 + 7] = -0.0F;
  CHECK(ActiveInputs(network(20), rows).layers().inputs() == 4);
  for (int j = 1; j < 5; ++j) rows[rows.size() - static_cast<std::size_t>(j)] = 1e-45F;
  CHECK(ActiveInputs(network(20), rows).all());
}

TEST_CASE("rows and parameters are divided into those of active inputs and the others, and put together again") {
  const std::int64_t dim = 21;
  const std::vector<float> rows = rows_with(4, dim, {2, 9, 19});
  const mlp::Layers layers = mlp::layers(dim, std::vector<std::int64_t>{3, 2}, 2);
  const ActiveInputs inputs(layers, rows);
  REQUIRE_FALSE(inputs.all());
  REQUIRE(inputs.layers().inputs() == 5);  // 2, 9, 19, and two of zeros
  const std::vector<float> some = inputs.of_rows(rows);
  REQUIRE(some.size() == 4 * 5);
  for (std::size_t row = 0; row < 4; ++row) {
    std::vector<float> numbers;
    for (std::size_t j = 0; j < 5; ++j) {
      if (some[row * 5 + j] != 0.0F) numbers.push_back(some[row * 5 + j]);
    }
    const auto first = static_cast<float>(row);
    CHECK(numbers == std::vector<float>{first + 3, first + 10, first + 20});
  }
  // Two arrays of parameters, all numbers different.
  const std::int64_t parameters = layers.parameters();
  std::vector<float> arrays(at(2 * parameters));
  for (std::size_t i = 0; i < arrays.size(); ++i) arrays[i] = static_cast<float>(i);
  const std::vector<float> active = inputs.active(arrays), resting = inputs.resting(arrays);
  CHECK(std::ssize(active) == 2 * inputs.layers().parameters());
  CHECK(std::ssize(resting) == 2 * 3 * 16);
  CHECK(inputs.together(active, resting) == arrays);
  // The third neuron's weight of input 9 is where the smaller network has it; so is what is behind the first layer.
  const auto of_9 = std::ranges::find(some, 10.0F) - some.begin();
  CHECK(active[at(2 * 5 + of_9)] == static_cast<float>(2 * dim + 9));
  CHECK(active[at(inputs.layers().biases_at(0))] == static_cast<float>(layers.biases_at(0)));
  CHECK(active[at(inputs.layers().parameters() + inputs.layers().weights_at(2))] ==
        static_cast<float>(parameters + layers.weights_at(2)));
  const ActiveInputs whole(layers);
  CHECK(whole.active(arrays) == arrays);
  CHECK(whole.resting(arrays).empty());
  CHECK(whole.together(arrays, {}) == arrays);
  CHECK(whole.of_rows(rows) == rows);
}

/// Clusters of 5 inputs between 36 that have the same number in all rows.
constexpr std::int64_t kDim = 41;
constexpr std::int64_t kPlaces[] = {3, 10, 11, 20, 40};
Dataset bordered(std::int64_t rows, std::uint32_t seed, float constant = 0.0F) {
  Dataset data = test::clusters(rows, 5, 3, seed, 0.1);
  std::vector<float> inputs(at(rows * kDim), constant);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t j = 0; j < 5; ++j) inputs[at(row * kDim + kPlaces[j])] = data.inputs[at(row * 5 + j)];
  }
  data.inputs = std::move(inputs);
  data.dim = kDim;
  return data;
}

std::string problem_of(const TrainingResult& result) { return result.epochs.back().mappings.back().problem; }
bool learns(const TrainingResult& result, int inputs) {
  return problem_of(result).starts_with("inputs=" + std::to_string(inputs) + " ");
}

const std::vector<Options>& rules_without_decay() {
  static const std::vector<Options> all{
      {{"rule", "adam"}, {"batch", "16"}, {"hidden", "tanh"}},
      {{"rule", "plain"}, {"rate", "0.05"}, {"batch", "1"}, {"hidden", "tanh"}},
      {{"rule", "plain"}, {"gradient", "sum"}, {"rate", "0.001"}, {"hidden", "tanh"}},
      {{"rule", "rprop"}, {"layers", "9,5"}, {"hidden", "tanh"}},
      {{"rule", "adaptive"}, {"hidden", "sigmoid"}, {"output", "sigmoid"}, {"first-step", "8"}},
      {{"rule", "adaptive"}, {"hidden", "sigmoid"}, {"output", "sigmoid"}, {"robust", "false"}, {"layers", ""}}};
  return all;
}

TEST_CASE("every rule learns the same without the inputs that are 0 in all rows, and their weights rest") {
  const Dataset data = bordered(90, 3, 7.0F);  // z-scores of a constant are 0
  for (Options options : rules_without_decay()) {
    CAPTURE(options[0].second);
    for (const char* epochs : {"4", "40"}) {
      options.emplace_back("epochs", epochs);
      OptionValues values = job(perceptrons(), data, options).options;
      resolve_mlp_options(values, values, Task::classify);
      const mlp::Layers layers = mlp_layers(values, kDim, 3);
      const std::vector<float> first = first_weights(values, layers);
      const TrainingResult result = train_mlp(data, options);
      CHECK(learns(result, kDim - 32));
      const MlpModel& own = mlp_of(result.model);
      const LearningRows rows = learning_rows(result.model, data);
      const ActiveInputs inputs(layers, rows.rows);
      CHECK(inputs.resting(own.parameters) == inputs.resting(first));
      REQUIRE(own.last);
      const mlp::Control control = mlp_control(values, 90, 3);
      const auto rule = static_cast<mlp::Rule>(control.rule);
      const std::vector<float> start = mlp::first_state(rule, layers.parameters(), values.number("first-step"));
      std::vector<float> resting = inputs.resting(std::span(start).first(own.last->state.size()));
      if (control.robust != 0) std::ranges::copy(inputs.resting(first), resting.end() - 32 * layers.sizes[1]);
      CHECK(inputs.resting(own.last->state) == resting);

      // The same bits as of a table without these columns.
      Dataset narrow = data;
      narrow.inputs = inputs.of_rows(rows.rows);
      narrow.dim = inputs.layers().inputs();
      MlpModel begin = own;
      begin.layers = inputs.layers();
      begin.parameters = inputs.active(first);
      const TrainingJob::Weights weights{.text = weights_text(begin), .source = "w"};
      Options unscaled = options;
      unscaled.emplace_back("scale", "none");
      const TrainingResult other = train_mlp(narrow, unscaled, {.weights = &weights});
      CHECK(problem_of(other) == problem_of(result));
      CHECK(inputs.active(own.parameters) == mlp_of(other.model).parameters);
      CHECK(inputs.active(own.last->state) == mlp_of(other.model).last->state);

      // What the reference learns that has all inputs, before signs of tiny gradients decide.
      if (std::string(epochs) != "4") continue;
      mlp::Reference reference(layers, first, start, mlp::first_progress());
      while (reference.progress().epoch < 4) {
        const auto epoch = static_cast<std::uint64_t>(reference.progress().epoch) + 1;
        const std::vector<std::int32_t> order = permutation(90, 1, epoch);
        const bool shuffled = control.shuffled != 0;
        REQUIRE(reference.step(
            {.rows = rows.rows, .targets = rows.targets, .order = shuffled ? order : std::vector<std::int32_t>{}},
            control));
      }
      CHECK(reference.progress().restores == own.last->progress.restores);
      double difference = 0.0, change = 0.0;
      for (std::size_t i = 0; i < first.size(); ++i) {
        difference += square(reference.parameters()[i] - static_cast<double>(own.parameters[i]));
        change += square(reference.parameters()[i] - static_cast<double>(first[i]));
      }
      CHECK(change > 0.0);
      CHECK(std::sqrt(difference / change) < 1e-4);
      const std::vector<float> theirs(reference.parameters().begin(), reference.parameters().end());
      CHECK(inputs.resting(theirs) == inputs.resting(first));
    }
  }
}

TEST_CASE("training with inputs left out goes on from a file with the same bits") {
  const Dataset data = bordered(90, 5);
  for (Options options : rules_without_decay()) {
    CAPTURE(options[0].second);
    options.emplace_back("validation", "0.2");
    Options whole = options, half = options;
    whole.emplace_back("epochs", "12");
    half.emplace_back("epochs", "5");
    const TrainingResult at_once = train_mlp(data, whole);
    const Model interrupted = decode_model(encode_model(train_mlp(data, half).model), "half");
    const TrainingResult resumed = train_mlp(data, {{"epochs", "12"}}, {.resume = &interrupted});
    CHECK(learns(resumed, kDim - 32));
    CHECK(mlp_of(resumed.model).parameters == mlp_of(at_once.model).parameters);
    CHECK(mlp_of(resumed.model).last->parameters == mlp_of(at_once.model).last->parameters);
    CHECK(mlp_of(resumed.model).last->state == mlp_of(at_once.model).last->state);
    CHECK(resumed.model.training.history.back().train_error == at_once.model.training.history.back().train_error);
  }
}

TEST_CASE("a session with other rows learns the inputs that its rows have") {
  const Dataset before = bordered(90, 5);
  Dataset after = bordered(90, 6);
  for (std::size_t i = 0; i < after.inputs.size(); i += 3) after.inputs[i] += static_cast<float>(i % 7) - 3.0F;
  for (Options options : rules_without_decay()) {
    CAPTURE(options[0].second);
    options.emplace_back("scale", "unit");
    options.emplace_back("epochs", "5");
    const Model first = train_mlp(before, options).model;
    const TrainingResult second = train_mlp(after, {{"epochs", "9"}}, {.resume = &first});
    CHECK(learns(second, kDim));
    const ActiveInputs inputs(mlp_of(first).layers, before.inputs);
    CHECK(inputs.resting(mlp_of(second.model).parameters) != inputs.resting(mlp_of(first).parameters));
    // And back: moments move their weights on, and robust training may go back to others; without them, they rest.
    const bool moves_on = options[0].second == "adaptive" || options[0].second == "adam";
    const TrainingResult third = train_mlp(before, {{"epochs", "13"}}, {.resume = &second.model});
    CHECK(learns(third, moves_on ? kDim : kDim - 32));
    const bool same = inputs.resting(mlp_of(third.model).parameters) == inputs.resting(mlp_of(second.model).parameters);
    CHECK(same == !moves_on);
  }
}

TEST_CASE("with weight decay all inputs take part, since their weights shrink") {
  const Dataset data = bordered(90, 3);
  for (const char* rule : {"adam", "plain"}) {
    CAPTURE(rule);
    const Options options{{"rule", rule}, {"batch", "0"}, {"rate", "0.5"}, {"weight-decay", "0.25"}, {"epochs", "3"}};
    OptionValues values = job(perceptrons(), data, options).options;
    resolve_mlp_options(values, values, Task::classify);
    const std::vector<float> first = first_weights(values, mlp_layers(values, kDim, 3));
    const TrainingResult result = train_mlp(data, options);
    CHECK(learns(result, kDim));
    for (std::int64_t neuron = 0; neuron < 64; ++neuron) {
      const std::size_t weight = at(neuron * kDim);  // of input 0
      CHECK(mlp_of(result.model).parameters[weight] == doctest::Approx(first[weight] * std::pow(0.875, 3.0)));
    }
  }
}

TEST_CASE("rows that are kept back or tested count with all their inputs") {
  Dataset data = bordered(100, 3);
  // Which rows are kept back is seen by their number, in a column that has it.
  Dataset numbered = data;
  for (std::size_t row = 0; row < 100; ++row) numbered.inputs[row * kDim] = static_cast<float>(row);
  const DataParts parts = part_data(numbered, 0.3, 1);
  Dataset other = data;
  for (std::size_t i = 0; i < parts.validation.inputs.size(); i += kDim) {
    const auto row = static_cast<std::size_t>(parts.validation.inputs[i]);
    for (std::size_t j = 12; j < 20; ++j) other.inputs[row * kDim + j] = 5.0F;
  }
  Dataset tested = bordered(50, 4);
  const auto trained = [&](const Dataset& rows) {
    return train_mlp(rows, {{"validation", "0.3"}, {"scale", "none"}, {"epochs", "6"}}, {.test = &tested});
  };
  const TrainingResult zeros = trained(data), numbers = trained(other);
  CHECK(learns(zeros, kDim - 32));
  CHECK(learns(numbers, kDim - 32));
  CHECK(mlp_of(zeros.model).last->parameters == mlp_of(numbers.model).last->parameters);
  CHECK(zeros.epochs.back().validation->error != numbers.epochs.back().validation->error);
  CHECK(zeros.epochs.front().test->error == numbers.epochs.front().test->error);
  for (std::size_t i = 15; i < tested.inputs.size(); i += kDim) tested.inputs[i] = 5.0F;
  CHECK(trained(data).epochs.front().test->error != zeros.epochs.front().test->error);
}

TEST_CASE("a table of words and one without numbers are learnt") {
  // One of 40 words in each row, of which the rows have the first 5.
  Dataset words = test::clusters(60, 1, 2, 3);
  words.dim = 40;
  words.inputs.assign(60 * 40, 0.0F);
  for (std::size_t row = 0; row < 60; ++row) {
    words.inputs[row * 40 + row % 5] = 1.0F;
    words.labels[row] = row % 5 < 2 ? 1 : 0;
  }
  for (const char* scale : {"none", "unit", "zscore", "minmax"}) {
    const TrainingResult result = train_mlp(words, {{"scale", scale}, {"epochs", "60"}}, {.test = &words});
    CHECK(learns(result, 8));
    CHECK(result.test->value == 1.0);
  }
  // Bytes are bytes without them.
  CHECK(problem_of(train_mlp(words, {{"scale", "unit"}, {"epochs", "1"}})).ends_with("input_bits=8"));
  Dataset nothing = words;
  std::ranges::fill(nothing.inputs, 0.0F);
  const TrainingResult result = train_mlp(nothing, {{"epochs", "3"}, {"rule", "rprop"}});
  CHECK(result.ending == Ending::completed);
  CHECK(learns(result, 8));
}

}  // namespace
}  // namespace heddle
