#include "heddle/kernels/mlp/network.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace heddle::mlp {
namespace {

std::vector<Axis> axes_of_network() {
  std::vector<Axis> axes{{.name = "inputs", .weight = 1.0, .maximum = kMostInputs}};
  axes.reserve(kMostHidden + 2);
  // The first layer has most of the work in most networks, and further ones less and less.
  double weight = 1.0;
  for (int l = 1; l <= kMostHidden; ++l, weight = std::max(0.25, weight / 2.0)) {
    axes.push_back({.name = fmt::format("hidden{}", l),
                    .weight = weight,
                    .maximum = kMostNeurons,
                    .spacing = Spacing::ratio,
                    .zero_means_none = true});
  }
  axes.push_back({.name = "outputs", .weight = 0.3, .maximum = kMostOutputs});
  return axes;
}

std::vector<AxisValue> sizes_of(const Layers& layers) {
  std::vector<AxisValue> values{layers.inputs()};
  values.reserve(kMostHidden + 5);
  for (int l = 1; l <= kMostHidden; ++l) values.emplace_back(l < layers.count ? layers.sizes[l] : 0);
  values.emplace_back(layers.outputs());
  return values;
}

}  // namespace

const std::vector<Axis>& network_axes() {
  static const std::vector<Axis> axes = axes_of_network();
  return axes;
}

const std::vector<Axis>& training_axes() {
  static const std::vector<Axis> axes = [] {
    std::vector<Axis> all = axes_of_network();
    all.push_back({.name = "rows", .weight = 1.0, .maximum = kMostRows});
    all.push_back({.name = "batch", .weight = 1.0, .maximum = kMostRows});
    all.push_back(
        {.name = "input_bits", .maximum = kFloatBits, .spacing = Spacing::equal, .values = {kByteBits, kFloatBits}});
    return all;
  }();
  return axes;
}

Layers layers_of(const Problem& problem) {
  std::vector<std::int64_t> hidden;
  for (int l = 1; l <= kMostHidden; ++l) {
    if (const std::int64_t size = problem.at(fmt::format("hidden{}", l)); size > 0) hidden.push_back(size);
  }
  return layers(problem.at("inputs"), hidden, problem.at("outputs"));
}

Layers layers(std::int64_t inputs, std::span<const std::int64_t> hidden, std::int64_t outputs) {
  Layers all{.count = 0, .sizes = {static_cast<int>(inputs)}};
  for (const std::int64_t size : hidden) all.sizes[++all.count] = static_cast<int>(size);
  all.sizes[++all.count] = static_cast<int>(outputs);
  return all;
}

Problem network_problem(const Layers& layers) { return Problem::from(network_axes(), sizes_of(layers)); }

Problem training_problem(const Layers& layers, std::int64_t rows, std::int64_t batch, std::int64_t bits) {
  std::vector<AxisValue> values = sizes_of(layers);
  values.emplace_back(rows);
  values.emplace_back(std::min(rows, batch));
  values.emplace_back(bits);
  return Problem::from(training_axes(), values);
}

std::int64_t bits_of(std::span<const float> numbers) {
  const auto are_bytes = [&](float scale) {
    return std::ranges::all_of(numbers, [scale](float number) { return is_byte(scale * number); });
  };
  return are_bytes(1.0F) || are_bytes(255.0F) ? kByteBits : kFloatBits;
}

std::string text(const Layers& layers) {
  std::string line = std::to_string(layers.inputs());
  for (int l = 1; l <= layers.count; ++l) line += fmt::format("-{}", layers.sizes[l]);
  return line;
}

bool same(const Layers& a, const Layers& b) {
  return a.count == b.count && std::equal(a.sizes, a.sizes + a.count + 1, b.sizes);
}

}  // namespace heddle::mlp
