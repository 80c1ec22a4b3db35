// The same perceptron from the same weights on the same rows, trained by FANN and by heddle on this CPU, by turns:
// batch, RPROP and incremental training. One error formula for the outputs of both, Toman's: half the root of the mean
// square.
//
//   fann_beside [--layers 25,15] [--epochs N] [--turns N] [--label COLUMN] [--scale WORD] DATA       one JSON document
//
// Everything is logistic; weights begin uniformly from -0.5 to 0.5. FANN's batch training divides the summed gradient
// by the number of rows, as the rule plain with the mean does, but its derivative of the logistic function is computed
// from an output that it first moves to 0.01..0.99; RPROP begins with FANN's first step of 0.1 in both. So
// errors come near each other and are not the same.
#include <floatfann.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "heddle/bench/common/program.hpp"
#include "heddle/runtime/data/dataset.hpp"
#include "heddle/runtime/data/scaling.hpp"
#include "heddle/runtime/device/cpu/cpu_device.hpp"
#include "heddle/runtime/train/mlp_options.hpp"
#include "heddle/runtime/train/mlp_weights.hpp"
#include "heddle/runtime/train/trainer.hpp"
#include "heddle/tuner/statistics.hpp"

using namespace heddle;
using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

namespace {

constexpr float kRate = 0.7F;  // FANN's default; a tenth of it for incremental training, which would not settle

struct Options {
  std::string layers = "25,15", label = "last", scale = "unit", data;
  int epochs = 3, turns = 3;
};

struct Rule {
  const char* name;
  fann_train_enum fann;
  std::vector<std::pair<std::string, std::string>> heddle;
};

double half_rms(const std::vector<float>& outputs, const std::vector<float>& targets) {
  double squares = 0.0;
  for (std::size_t i = 0; i < outputs.size(); ++i)
    squares += std::pow(static_cast<double>(outputs[i]) - targets[i], 2.0);
  return std::sqrt(squares / static_cast<double>(outputs.size())) / 2.0;
}

struct Rows {
  std::vector<float> inputs, targets;
  unsigned count = 0, dim = 0, outputs = 0;
};

using FannNetwork = std::unique_ptr<fann, decltype(&fann_destroy)>;

/// With the weights of `network`. A neuron's connections are those from the layer before, then its bias.
FannNetwork make_fann(const MlpModel& network, const Rule& rule) {
  const mlp::Layers& layers = network.layers;
  std::vector<unsigned> sizes(layers.sizes, layers.sizes + layers.count + 1);
  FannNetwork net(fann_create_standard_array(static_cast<unsigned>(sizes.size()), sizes.data()), &fann_destroy);
  fann_set_activation_function_hidden(net.get(), FANN_SIGMOID);
  fann_set_activation_function_output(net.get(), FANN_SIGMOID);
  fann_set_activation_steepness_hidden(net.get(), 0.5F);  // FANN's logistic function is that of twice its steepness
  fann_set_activation_steepness_output(net.get(), 0.5F);
  fann_set_train_error_function(net.get(), FANN_ERRORFUNC_LINEAR);
  fann_set_training_algorithm(net.get(), rule.fann);
  fann_set_learning_rate(net.get(), rule.fann == FANN_TRAIN_INCREMENTAL ? kRate / 10 : kRate);
  std::vector<fann_connection> connections(fann_get_total_connections(net.get()));
  fann_get_connection_array(net.get(), connections.data());
  std::size_t next = 0;
  for (int l = 0; l < layers.count; ++l) {
    for (int o = 0; o < layers.sizes[l + 1]; ++o) {
      const float* weight =
          network.parameters.data() + layers.weights_at(l) + static_cast<std::int64_t>(o) * layers.sizes[l];
      for (int i = 0; i < layers.sizes[l]; ++i) connections[next++].weight = weight[i];
      connections[next++].weight = network.parameters[static_cast<std::size_t>(layers.biases_at(l) + o)];
    }
  }
  fann_set_weight_array(net.get(), connections.data(), static_cast<unsigned>(connections.size()));
  return net;
}

std::vector<float> run_fann(fann* net, const Rows& rows) {
  std::vector<float> outputs;
  for (unsigned i = 0; i < rows.count; ++i) {
    std::vector<float> row(rows.inputs.begin() + static_cast<std::ptrdiff_t>(i) * rows.dim,
                           rows.inputs.begin() + static_cast<std::ptrdiff_t>(i + 1) * rows.dim);
    const float* answer = fann_run(net, row.data());
    outputs.insert(outputs.end(), answer, answer + rows.outputs);
  }
  return outputs;
}

Json compare(const Rule& rule, const Dataset& data, const Rows& rows, fann_train_data* fann_rows,
             const Options& options) {
  const auto device = open_cpu_device();
  const Trainer& trainer = heddle::trainer("mlp");
  TrainingJob job{.train = &data, .options = OptionValues(trainer.options())};
  for (const auto& [name, value] : rule.heddle) job.options.set(name, value);
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, std::string>>{{"layers", options.layers},
                                                        {"hidden", "sigmoid"},
                                                        {"output", "sigmoid"},
                                                        {"scale", "none"},
                                                        {"initial-weights", "0.5"},
                                                        {"shuffle", "false"},
                                                        {"epochs", std::to_string(options.epochs)},
                                                        {"report", std::to_string(options.epochs)}}) {
    job.options.set(name, value);
  }
  OptionValues resolved = job.options;
  resolve_mlp_options(resolved, job.options, data.task);
  MlpModel start;
  start.layers = mlp_layers(resolved, data.dim, data.outputs());
  start.hidden = start.output = mlp::kSigmoid;
  start.parameters = first_weights(resolved, start.layers);
  const TrainingJob::Weights weights{.text = weights_text(start), .source = "the start"};
  job.weights = &weights;

  const FannNetwork net = make_fann(start, rule);
  const double start_error = half_rms(run_fann(net.get(), rows), rows.targets);
  std::vector<double> fann_times, heddle_times, fann_errors, heddle_errors;  // errors: after each turn
  TrainingResult result;
  for (int turn = 0; turn < options.turns; ++turn) {
    for (int epoch = 0; epoch < options.epochs; ++epoch) {
      const auto begin = Clock::now();
      fann_train_epoch(net.get(), fann_rows);
      fann_times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
    }
    fann_errors.push_back(half_rms(run_fann(net.get(), rows), rows.targets));
    Model last = result.model;
    TrainingJob own = job;
    if (turn > 0) {  // goes on where the last turn ended
      own.weights = nullptr;
      own.resume = &last;
      own.options.set("epochs", std::to_string(options.epochs * (turn + 1)));
    }
    result = trainer.train(*device, {}, own);
    const auto predictor = trainer.predictor(*device, {}, result.model.network, {});
    heddle_errors.push_back(half_rms(predict(*predictor, result.model, data), rows.targets));
    for (const EpochReport& report : result.epochs) {
      heddle_times.push_back(1e-3 * report.microseconds_per_sample * static_cast<double>(data.rows()));
    }
  }
  const double fann_ms = median(fann_times), heddle_ms = median(heddle_times);
  return {{"rule", rule.name},
          {"epochs", options.epochs * options.turns},
          {"start_error", start_error},
          {"fann_error", fann_errors.back()},
          {"heddle_error", heddle_errors.back()},
          {"fann_errors", fann_errors},
          {"heddle_errors", heddle_errors},
          {"fann_ms_per_epoch", fann_ms},
          {"heddle_ms_per_epoch", heddle_ms},
          {"times_as_fast", fann_ms / heddle_ms},
          {"configuration", result.epochs.back().mappings.back().configuration}};
}

Json compare_all(const Options& options) {
  Dataset data = load_dataset(options.data, {.label = options.label});
  data.inputs = fit_scaling(parse_scale(options.scale), data.inputs, data.dim).apply(data.inputs);
  Rows rows{.inputs = data.inputs,
            .targets = {},
            .count = static_cast<unsigned>(data.rows()),
            .dim = static_cast<unsigned>(data.dim),
            .outputs = static_cast<unsigned>(data.outputs())};
  rows.targets.resize(static_cast<std::size_t>(rows.count) * rows.outputs);
  for (std::size_t i = 0; i < data.labels.size(); ++i)
    rows.targets[i * rows.outputs + static_cast<std::size_t>(data.labels[i])] = 1.0F;
  const std::unique_ptr<fann_train_data, decltype(&fann_destroy_train)> fann_rows(
      fann_create_train(rows.count, rows.dim, rows.outputs), &fann_destroy_train);
  for (unsigned i = 0; i < rows.count; ++i) {
    std::copy_n(rows.inputs.begin() + static_cast<std::ptrdiff_t>(i) * rows.dim, rows.dim, fann_rows->input[i]);
    std::copy_n(rows.targets.begin() + static_cast<std::ptrdiff_t>(i) * rows.outputs, rows.outputs,
                fann_rows->output[i]);
  }
  const std::vector<Rule> rules{
      {"batch", FANN_TRAIN_BATCH, {{"rule", "plain"}, {"gradient", "mean"}, {"rate", fmt::format("{}", kRate)}}},
      {"rprop", FANN_TRAIN_RPROP, {{"rule", "rprop"}, {"first-step", "0.1"}}},
      {"incremental",
       FANN_TRAIN_INCREMENTAL,
       {{"rule", "plain"}, {"batch", "1"}, {"rate", fmt::format("{}", kRate / 10)}}}};
  Json results = Json::array();
  for (const Rule& rule : rules) results.push_back(compare(rule, data, rows, fann_rows.get(), options));
  std::string network = fmt::format("{}-{}-{}", data.dim, options.layers, data.outputs());
  std::ranges::replace(network, ',', '-');
  return {{"data", std::string(data.source.substr(data.source.find_last_of('/') + 1))},
          {"network", network},
          {"rows", data.rows()},
          {"results", results}};
}

}  // namespace

int main(int count, char** words) {
  return bench::exit_code("fann_beside", [&] {
    Options options;
    CLI::App parser("The same perceptron trained by FANN and by heddle");
    parser.add_option("--layers", options.layers);
    parser.add_option("--epochs", options.epochs)->check(CLI::PositiveNumber);
    parser.add_option("--turns", options.turns)->check(CLI::PositiveNumber);
    parser.add_option("--label", options.label);
    parser.add_option("--scale", options.scale);
    parser.add_option("DATA", options.data)->required();
    CLI11_PARSE(parser, count, words);
    fmt::print("{}\n", compare_all(options).dump(1));
    return 0;
  });
}
