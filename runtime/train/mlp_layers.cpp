#include "heddle/runtime/train/mlp_layers.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <variant>

#include "heddle/kernels/error.hpp"
#include "heddle/runtime/train/mlp_predictor.hpp"

namespace heddle {

namespace {

const MlpModel& perceptron(const Model& model, const std::string& option, const std::string& source) {
  const auto* network = std::get_if<MlpModel>(&model.network);
  if (network == nullptr) {
    throw Error(ErrorKind::usage, fmt::format("option {}: found a model of the network {} in {}, expected one of mlp",
                                              option, model.kind(), source));
  }
  return *network;
}

/// Layers `first` to before `end` as a network of their own.
MlpModel part_of(const MlpModel& network, int first, int end) {
  MlpModel part{.layers = {.count = end - first, .sizes = {}},
                .hidden = network.hidden,
                .output = end == network.layers.count ? network.output : network.hidden,
                .parameters = {},
                .last = {}};
  for (int l = first; l <= end; ++l) part.layers.sizes[l - first] = network.layers.sizes[l];
  const auto begin = network.parameters.begin();
  part.parameters.assign(begin + network.layers.weights_at(first), begin + network.layers.weights_at(end));
  return part;
}

}  // namespace

Model first_layers(const Model& model, std::int64_t layers, const std::string& source) {
  const MlpModel& network = perceptron(model, "--layer", source);
  if (layers < 1 || layers > network.layers.count) {
    throw Error(ErrorKind::usage, fmt::format("option --layer: found {}, expected 1 to {} for the layers {} of {}",
                                              layers, network.layers.count, mlp::text(network.layers), source));
  }
  Model shown = model;
  shown.network = part_of(network, 0, static_cast<int>(layers));
  shown.task = Task::regress;
  shown.classes.clear();
  const auto neurons = static_cast<std::size_t>(shown.outputs());
  shown.targets = {
      .kind = Scale::none, .offset = std::vector<double>(neurons, 0.0), .factor = std::vector<double>(neurons, 1.0)};
  shown.target_names.clear();
  for (std::size_t i = 1; i <= neurons; ++i) shown.target_names.push_back(fmt::format("neuron_{}", i));
  return shown;
}

std::vector<float> threshold_outputs(Device& device, const Knowledge& known, const Model& model, const Dataset& data,
                                     const Notice& notice, const std::string& source) {
  const MlpModel& network = perceptron(model, "--threshold", source);
  std::vector<float> values = network_inputs(model, data);
  for (int l = 0; l < network.layers.count; ++l) {
    MlpModel layer = part_of(network, l, l + 1);
    layer.output = mlp::kLinear;  // its sums
    values = MlpPredictor(device, known, layer, notice).predict(layer, values);
    for (float& value : values) value = value > 0.0F ? 1.0F : 0.0F;
  }
  return values;
}

}  // namespace heddle
