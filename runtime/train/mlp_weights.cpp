#include "heddle/runtime/train/mlp_weights.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>

#include "heddle/kernels/arithmetic.hpp"
#include "heddle/kernels/counted.hpp"
#include "heddle/kernels/text.hpp"
#include "heddle/runtime/data/field.hpp"
#include "heddle/runtime/data/text_lines.hpp"

namespace heddle {

namespace {

/// The weights of one neuron from its line.
void read_neuron(const Fields& fields, const std::string& source, std::int64_t line, float* bias, float* weights) {
  for (std::size_t j = 0; j < fields.size(); ++j) {
    const std::optional<float> value = parse_number(fields[j]);
    if (!value || std::abs(*value) > kLargestWeightOfLayer) {
      refuse(place(source, line, static_cast<std::int64_t>(j) + 1), in_quotes(fields[j]),
             fmt::format("a number whose size is at most {:g}", kLargestWeightOfLayer));
    }
    (j == 0 ? *bias : weights[j - 1]) = *value;
  }
}

}  // namespace

std::string weights_text(const MlpModel& network) {
  std::string text;
  const auto into = std::back_inserter(text);
  const mlp::Layers& layers = network.layers;
  for (int l = 0; l < layers.count; ++l) {
    const std::int64_t inputs = layers.sizes[l];
    fmt::format_to(into, "# layer {}: {} ({}), each its bias and {}\n", l + 1, counted(layers.sizes[l + 1], "neuron"),
                   heddle::text(l + 1 == layers.count ? network.output : network.hidden), counted(inputs, "weight"));
    const float* bias = network.parameters.data() + layers.biases_at(l);
    const float* weight = network.parameters.data() + layers.weights_at(l);
    for (int o = 0; o < layers.sizes[l + 1]; ++o) {
      fmt::format_to(into, "{:.9g}", *bias++);
      for (std::int64_t i = 0; i < inputs; ++i) fmt::format_to(into, " {:.9g}", *weight++);
      text += '\n';
    }
  }
  return text;
}

std::vector<float> read_weights(std::string_view text, const std::string& source, const mlp::Layers& layers) {
  std::vector<float> parameters(at(layers.parameters()));
  Lines lines(text);
  Fields fields;
  std::int64_t line = 0, neuron = 0;
  int layer = 0;
  while (!lines.done()) {
    split(lines.next(), false, fields);
    ++line;
    if (fields.empty() || fields[0].starts_with('#')) continue;
    if (layer == layers.count) {
      refuse(place(source, line, 1), "one more neuron", fmt::format("those of a network {}", mlp::text(layers)));
    }
    const auto inputs = static_cast<std::size_t>(layers.sizes[layer]);
    if (fields.size() != inputs + 1) {
      refuse(place(source, line, 1), counted(fields.size(), "number"),
             fmt::format("a bias and {}, for layer {} of a network {}", counted(inputs, "weight"), layer + 1,
                         mlp::text(layers)));
    }
    read_neuron(fields, source, line, parameters.data() + layers.biases_at(layer) + neuron,
                parameters.data() + layers.weights_at(layer) + neuron * layers.sizes[layer]);
    if (++neuron == layers.sizes[layer + 1]) {
      neuron = 0;
      ++layer;
    }
  }
  if (layer < layers.count) {
    refuse(place(source, line + 1, 1), fmt::format("the end of the weights in layer {}", layer + 1),
           fmt::format("those of a network {}", mlp::text(layers)));
  }
  return parameters;
}

}  // namespace heddle
