// How many epochs the float64 reference needs until Toman's E, half the root of the mean squared error, falls to a
// value: of several seeds, each in a thread of its own, with the weights and the rows that `heddle train` begins with.
//
//   reference_epochs [--seeds 10] [--target 0.04] [--most 600] [--layers 25,15] [--label COLUMN] [--rows N] DATA JSON
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "heddle/bench/common/program.hpp"
#include "heddle/kernels/mlp/reference.hpp"
#include "heddle/kernels/mlp/rules.hpp"
#include "heddle/runtime/data/dataset.hpp"
#include "heddle/runtime/data/scaling.hpp"
#include "heddle/runtime/train/mlp_options.hpp"
#include "heddle/runtime/train/trainer.hpp"

using namespace heddle;

namespace {

struct Options {
  std::string layers = "25,15", label = "last", data;
  int seeds = 10, most = 600;
  std::int64_t rows = 0;
  double target = 0.04;
};

struct Outcome {
  int seed = 0, epochs = 0;
  double error = 0.0;  ///< E of the last epoch
};

std::vector<float> first_weights_of(const Options& options, const Dataset& data, int seed, mlp::Layers& layers) {
  OptionValues asked(trainer("mlp").options());
  for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{{"layers", options.layers},
                                                                                    {"hidden", "sigmoid"},
                                                                                    {"output", "sigmoid"},
                                                                                    {"rule", "adaptive"},
                                                                                    {"initial-weights", "0.5"},
                                                                                    {"seed", std::to_string(seed)}}) {
    asked.set(name, value);
  }
  OptionValues resolved = asked;
  resolve_mlp_options(resolved, asked, data.task);
  layers = mlp_layers(resolved, data.dim, data.outputs());
  return first_weights(resolved, layers);
}

Outcome train(const Options& options, const Dataset& data, const mlp::Batch& batch, int seed) {
  mlp::Layers layers;
  const std::vector<float> start = first_weights_of(options, data, seed, layers);
  mlp::Control control = mlp::published_control(mlp::kAdaptive, data.rows());
  control.end = options.most;
  const auto state = mlp::first_state(mlp::kAdaptive, layers.parameters(), mlp::published_first_step(mlp::kAdaptive));
  mlp::Reference reference(layers, start, state, mlp::first_progress());
  Outcome outcome{.seed = seed};
  while (reference.step(batch, control)) {
    const double numbers = static_cast<double>(data.rows()) * static_cast<double>(layers.outputs());
    outcome.epochs = reference.progress().epoch;
    outcome.error = mlp::published_error(reference.errors().back() / numbers);
    if (outcome.error <= options.target) break;
  }
  return outcome;
}

nlohmann::ordered_json run(const Options& options) {
  Dataset data = load_dataset(options.data, {.label = options.label});
  data.inputs = fit_scaling(parse_scale("unit"), data.inputs, data.dim).apply(data.inputs);
  if (options.rows > 0 && options.rows < data.rows()) {
    data.labels.resize(static_cast<std::size_t>(options.rows));
    data.inputs.resize(static_cast<std::size_t>(options.rows * data.dim));
  }
  std::vector<float> targets(data.labels.size() * static_cast<std::size_t>(data.outputs()));
  for (std::size_t i = 0; i < data.labels.size(); ++i) {
    targets[i * static_cast<std::size_t>(data.outputs()) + static_cast<std::size_t>(data.labels[i])] = 1.0F;
  }
  const mlp::Batch batch{.rows = data.inputs, .targets = targets};
  std::vector<Outcome> outcomes(static_cast<std::size_t>(options.seeds));
  {
    std::vector<std::jthread> threads;
    threads.reserve(outcomes.size());
    for (int i = 0; i < options.seeds; ++i) {
      threads.emplace_back([&, i] { outcomes[static_cast<std::size_t>(i)] = train(options, data, batch, i + 1); });
    }
  }
  nlohmann::ordered_json runs = nlohmann::ordered_json::array();
  for (const Outcome& each : outcomes) {
    runs.push_back({{"seed", each.seed}, {"epochs", each.epochs}, {"error", each.error}});
  }
  return {{"rows", data.rows()}, {"target", options.target}, {"runs", runs}};
}

}  // namespace

int main(int count, char** words) {
  return bench::exit_code("reference_epochs", [&] {
    Options options;
    CLI::App parser("Epochs of the float64 reference until an error is reached");
    parser.add_option("--seeds", options.seeds, "1 to N")->check(CLI::PositiveNumber);
    parser.add_option("--target", options.target, "Toman's E");
    parser.add_option("--most", options.most, "epochs")->check(CLI::PositiveNumber);
    parser.add_option("--layers", options.layers);
    parser.add_option("--label", options.label);
    parser.add_option("--rows", options.rows, "the first ones only");
    parser.add_option("DATA", options.data)->required();
    CLI11_PARSE(parser, count, words);
    fmt::print("{}\n", run(options).dump(1));
    return 0;
  });
}
