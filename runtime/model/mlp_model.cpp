#include "heddle/runtime/model/mlp_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <span>
#include <utility>

#include "heddle/runtime/model/cbor_map.hpp"
#include "heddle/runtime/model/checks.hpp"
#include "heddle/runtime/model/description.hpp"

namespace heddle {

namespace {

constexpr std::array kActivations{
    std::pair(mlp::kSigmoid, std::string_view("sigmoid")), std::pair(mlp::kTanh, std::string_view("tanh")),
    std::pair(mlp::kRelu, std::string_view("relu")), std::pair(mlp::kLinear, std::string_view("linear")),
    std::pair(mlp::kSoftmax, std::string_view("softmax"))};

/// Squares of gradients among them.
constexpr double kLargestState = 1e38;
/// Beyond the squared errors of all rows and outputs that float32 can have in an epoch.
constexpr double kLargestSquares = 1e60;

/// Sizes of inputs that a network is asked about: one after the other, each so many times the one before.
constexpr double kSmallestSize = 1.0, kLargestSize = 1e30, kSizeStep = 1e3;

/// Calls visit(name, number) for every number of a progress that training goes on from.
template <class Progress, class Visit>
void for_each_count(Progress& progress, const Visit& visit) {
  visit("steps", progress.steps);
  visit("epoch", progress.epoch);
  visit("position", progress.position);
  visit("restores", progress.restores);
  visit("squares", progress.squares);
  visit("best", progress.best);
  visit("beta1_power", progress.beta1_power);
  visit("beta2_power", progress.beta2_power);
}

/// Whether all sums of all layers stay below what float32 holds, with inputs of up to this size.
bool holds(const MlpModel& network, double input) {
  constexpr double kLargestSum = 1e37;
  double bound = input;
  for (int l = 0; l < network.layers.count; ++l) {
    const auto inputs = static_cast<std::size_t>(network.layers.sizes[l]);
    const float* weight = network.parameters.data() + network.layers.weights_at(l);
    const float* bias = network.parameters.data() + network.layers.biases_at(l);
    double largest = 0.0;
    for (int o = 0; o < network.layers.sizes[l + 1]; ++o) {
      double sum = std::abs(static_cast<double>(bias[o]));
      for (std::size_t i = 0; i < inputs; ++i) sum += std::abs(static_cast<double>(*weight++)) * bound;
      largest = std::max(largest, sum);
    }
    if (!(largest <= kLargestSum)) return false;
    const bool bounded = network.hidden == mlp::kSigmoid || network.hidden == mlp::kTanh;
    bound = bounded ? 1.0 : largest;
  }
  return true;
}

mlp::Activation activation_in(const CborMap& from, const char* name) {
  const std::string word = from.word(name);
  const auto found = activation_of(word);
  if (!found) refuse_model(from.source(), fmt::format("the activation '{}'", word), "one that there is");
  return *found;
}

mlp::Layers layers_in(const CborMap& from) {
  const nlohmann::json& sizes = from.list("layers");
  const auto refuse = [&] {
    refuse_model(from.source(), "layers of another form", "2 to 10 sizes from 1 up to those of the largest networks");
  };
  if (sizes.size() < 2 || sizes.size() > mlp::kMostLayers + 1) refuse();
  mlp::Layers layers{.count = static_cast<int>(sizes.size()) - 1, .sizes = {}};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (!sizes[i].is_number_unsigned() ||
        sizes[i].get<std::uint64_t>() > static_cast<std::uint64_t>(mlp::kMostInputs)) {
      refuse();
    }
    layers.sizes[i] = sizes[i].get<int>();
    if (layers.sizes[i] < 1) refuse();
  }
  if (layers.parameters() > mlp::kMostParameters) refuse();
  return layers;
}

MlpModel::Learning learning_in(const CborMap& from, std::int64_t parameters) {
  MlpModel::Learning learning;
  learning.parameters = from.values<float>("parameters", parameters);
  learning.state = from.values<float>("state", from.whole("state_arrays", 0, mlp::kStateArrays) * parameters);
  const std::map<std::string, double> numbers = from.numbers("progress");
  for_each_count(learning.progress, [&]<class T>(const char* name, T& number) {
    const auto found = numbers.find(name);
    if (found == numbers.end()) refuse_model(from.source(), "no progress of the training", fmt::format("'{}'", name));
    constexpr double kLargest = 9e15;
    const double value = found->second;
    if constexpr (std::is_integral_v<T>) {
      check_range(from.source(), name, value, 0.0, sizeof(T) == sizeof(int) ? 2e9 : kLargest);
    } else {
      const bool sum = std::string_view(name) == "squares";
      check_range(from.source(), name, value, 0.0, sum ? kLargestSquares : mlp::kNoError);
    }
    number = static_cast<T>(value);
  });
  return learning;
}

}  // namespace

std::string_view text(mlp::Activation activation) {
  return std::ranges::find(kActivations, activation, &decltype(kActivations)::value_type::first)->second;
}

std::optional<mlp::Activation> activation_of(std::string_view word) {
  const auto* const found = std::ranges::find(kActivations, word, &decltype(kActivations)::value_type::second);
  if (found == kActivations.end()) return std::nullopt;
  return found->first;
}

std::string fault_of_weights(const MlpModel& network, double input) {
  std::string fault = out_of_range("weight", std::span<const float>(network.parameters), 0.0, kLargestWeightOfLayer);
  if (!fault.empty() || network.parameters.empty()) return fault;
  double size = kSmallestSize;
  while (size < input) size *= kSizeStep;
  if (!holds(network, size)) {
    fault = fmt::format(
        "weights whose sums over a layer float32 cannot hold with scaled inputs of up to {:g}, expected smaller ones",
        size);
  }
  return fault;
}

std::string fault_of_learning(const MlpModel::Learning& learning) {
  std::string fault = out_of_range("weight", std::span<const float>(learning.parameters), 0.0, kLargestWeightOfLayer);
  if (!fault.empty()) return fault;
  return out_of_range("state", std::span<const float>(learning.state), 0.0, kLargestState);
}

MlpModel MlpModel::untaught(std::int64_t dim, std::int64_t outputs) {
  MlpModel model;
  model.layers = mlp::layers(dim, {}, outputs);
  return model;
}

NetworkSize MlpModel::size() const { return {.text = mlp::text(layers), .counts = {}}; }

std::string MlpModel::unready() const { return parameters.empty() ? "a network without weights, expected some" : ""; }

double MlpModel::largest_input() const {
  if (parameters.empty()) return 0.0;
  double size = kLargestSize;
  while (size > kSmallestSize && !holds(*this, size)) size /= kSizeStep;
  return size;
}

void MlpModel::check(const std::string& source) const {
  if (hidden == mlp::kSoftmax) refuse_model(source, "hidden layers of softmax", "another activation");
  if (!parameters.empty()) require(source, wrong_count("weights", parameters.size(), layers.parameters()));
  require(source, fault_of_weights(*this));
  if (!last) return;
  require(source, wrong_count("weights to go on from", last->parameters.size(), layers.parameters()));
  if (last->state.size() % last->parameters.size() != 0 ||
      last->state.size() / last->parameters.size() > mlp::kStateArrays) {
    refuse_model(source, fmt::format("{} states of the training", last->state.size()), "some for each weight");
  }
  require(source, fault_of_learning(*last));
}

void MlpModel::encode(nlohmann::json& into) const {
  into["layers"] = std::vector<std::int64_t>(layers.sizes, layers.sizes + layers.count + 1);
  into["hidden"] = text(hidden);
  into["output"] = text(output);
  into["taught"] = parameters.empty() ? 0 : 1;
  if (!parameters.empty()) into["parameters"] = packed(parameters);
  if (!last) return;
  nlohmann::json& learning = into["last"] = nlohmann::json::object();
  learning["parameters"] = packed(last->parameters);
  learning["state_arrays"] = last->state.size() / last->parameters.size();
  learning["state"] = packed(last->state);
  nlohmann::json& progress = learning["progress"] = nlohmann::json::object();
  for_each_count(last->progress, [&](const char* name, auto number) { progress[name] = static_cast<double>(number); });
}

MlpModel MlpModel::decode(const CborMap& from) {
  MlpModel model;
  model.layers = layers_in(from);
  model.hidden = activation_in(from, "hidden");
  model.output = activation_in(from, "output");
  const std::int64_t parameters = model.layers.parameters();
  if (from.whole("taught", 0, 1) == 1) model.parameters = from.values<float>("parameters", parameters);
  if (from.has("last")) model.last = learning_in(from.map("last"), parameters);
  return model;
}

Description MlpModel::describe(const Model&) const {
  Description description;
  description.columns = {{.title = "layer", .number = true},           {.title = "inputs", .number = true},
                         {.title = "neurons", .number = true},         {.title = "activation"},
                         {.title = "weights", .number = true},         {.title = "largest", .number = true},
                         {.title = "root mean square", .number = true}};
  description.cells.reserve(static_cast<std::size_t>(layers.count));
  for (int l = 0; l < layers.count && !parameters.empty(); ++l) {
    double largest = 0.0, squares = 0.0;
    for (std::int64_t i = layers.weights_at(l); i < layers.weights_at(l + 1); ++i) {
      const double value = parameters[static_cast<std::size_t>(i)];
      largest = std::max(largest, std::abs(value));
      squares += value * value;
    }
    const auto count = static_cast<double>(layers.parameters_of(l));
    description.cells.push_back(
        {std::to_string(l + 1), std::to_string(layers.sizes[l]), std::to_string(layers.sizes[l + 1]),
         std::string(text(l + 1 == layers.count ? output : hidden)), std::to_string(layers.parameters_of(l)),
         fmt::format("{:.4g}", largest), fmt::format("{:.4g}", std::sqrt(squares / count))});
  }
  return description;
}

nlohmann::ordered_json MlpModel::document(const Model&) const {
  return {{"layers", std::vector<std::int64_t>(layers.sizes, layers.sizes + layers.count + 1)},
          {"hidden", text(hidden)},
          {"output_activation", text(output)},
          {"weights", layers.parameters()}};
}

std::int64_t MlpModel::largest_bytes() const {
  constexpr std::int64_t kNames = 1024;  // and single numbers
  return kNames + static_cast<std::int64_t>(sizeof(float)) * (2 + mlp::kStateArrays) * layers.parameters();
}

}  // namespace heddle
