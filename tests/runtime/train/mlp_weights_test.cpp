// Weights of perceptrons as text.
#include "heddle/runtime/train/mlp_weights.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "runtime/train/synthetic.hpp"
#include "runtime/train/training_job.hpp"

namespace heddle {
namespace {

using test::cpu, test::job;

TrainingResult train_from(const Dataset& data, const TrainingJob::Weights* weights, const char* network = "mlp") {
  const test::Options options = std::string(network) == "mlp"
                                    ? test::Options{{"layers", "4,3"}, {"epochs", "2"}, {"rule", "rprop"}}
                                    : test::Options{{"epochs", "1"}};
  TrainingJob what = job(trainer(network), data, options);
  what.weights = weights;
  return trainer(network).train(cpu(), {}, what);
}

const MlpModel& perceptron_of(const TrainingResult& result) { return std::get<MlpModel>(result.model.network); }

mlp::Layers small() {
  const std::vector<std::int64_t> hidden{3};
  return mlp::layers(2, hidden, 1);
}

std::string refused_weights(const std::string& text) {
  try {
    (void)read_weights(text, "w", small());
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    return error.what();
  }
  return "nothing";
}

TEST_CASE("weights read back as the same, the bias of each neuron first") {
  const Dataset data = test::clusters(60, 2, 2, 3);
  const TrainingResult result = train_from(data, nullptr);
  const MlpModel& network = perceptron_of(result);
  const std::string text = weights_text(network);
  CHECK(read_weights(text, "w", network.layers) == network.parameters);
  const std::vector<float> read = read_weights("# by hand\n1 2 3\n4 5 6\n7 8 9\n10 11 12 13\n", "w", small());
  CHECK(read == std::vector<float>{2, 3, 5, 6, 8, 9, 1, 4, 7, 11, 12, 13, 10});
}

TEST_CASE("training begins with the weights that are given") {
  const Dataset data = test::clusters(60, 2, 2, 3);
  const TrainingResult first = train_from(data, nullptr);
  const TrainingJob::Weights weights{.text = weights_text(perceptron_of(first)), .source = "w"};
  const TrainingResult second = train_from(data, &weights);
  CHECK(second.model.training.history.front().train_error < first.model.training.history.back().train_error);
  CHECK(perceptron_of(train_from(data, &weights)).parameters == perceptron_of(second).parameters);
}

TEST_CASE("weights of another network are refused in one line") {
  CHECK(refused_weights("1 2 3\n4 5 6\n7 8 9\n10 11 12\n") ==
        "w:4:1: found 3 numbers, expected a bias and 3 weights, for layer 2 of a network 2-3-1");
  CHECK(refused_weights("1 2 3\n4 5 6\n") ==
        "w:3:1: found the end of the weights in layer 1, expected those of a network 2-3-1");
  CHECK(refused_weights("1 2 3\n4 5 6\n7 8 9\n1 2 3 4\n5\n") ==
        "w:5:1: found one more neuron, expected those of a network 2-3-1");
  CHECK(refused_weights("1 2 nan\n") == "w:1:3: found 'nan', expected a number whose size is at most 1e+30");
  const Dataset data = test::clusters(60, 2, 2, 3);
  const TrainingJob::Weights weights{.text = "1 2\n", .source = "w"};
  CHECK_THROWS_WITH_AS((void)train_from(data, &weights), doctest::Contains("of a network 2-4-3-2"), Error);
  for (const char* network : {"sonfin", "tsk"}) {
    CHECK_THROWS_WITH_AS((void)train_from(data, &weights, network), doctest::Contains("expected --network mlp"), Error);
  }
}

TEST_CASE("weights that float32 cannot compute with are refused in one line, whatever the rows are for") {
  CHECK(refused_weights("1 2 -3e30\n") == "w:1:3: found '-3e30', expected a number whose size is at most 1e+30");
  const Dataset data = test::clusters(60, 2, 2, 3);
  std::string text;
  // Sums of a size of 1e36 with inputs of size 1, which scaled rows exceed.
  for (int neuron = 0; neuron < 4; ++neuron) text += "1e12 1e12 1e12\n";
  for (int neuron = 0; neuron < 3; ++neuron) text += "1e12 1e12 1e12 1e12 1e12\n";
  for (int neuron = 0; neuron < 2; ++neuron) text += "1e11 1e11 1e11 1e11\n";
  const TrainingJob::Weights weights{.text = text, .source = "w"};
  for (const test::Options& more : {test::Options{}, test::Options{{"validation", "0.2"}}}) {
    TrainingJob what = job(trainer("mlp"), data, {{"layers", "4,3"}});
    for (const auto& [name, value] : more) what.options.set(name, value);
    what.weights = &weights;
    for (const Dataset* test : {static_cast<const Dataset*>(nullptr), &data}) {
      what.test = test;
      CHECK_THROWS_WITH_AS((void)trainer("mlp").train(cpu(), {}, what),
                           doctest::Contains("w: found weights whose sums over a layer float32 cannot hold"), Error);
    }
  }
  TrainingJob drawn =
      job(trainer("mlp"), data, {{"layers", "100,100,100,100,100,100,100,100"}, {"initial-weights", "1000"}});
  CHECK_THROWS_WITH_AS((void)trainer("mlp").train(cpu(), {}, drawn), doctest::Contains("--initial-weights 1000"),
                       Error);
}

}  // namespace
}  // namespace heddle
