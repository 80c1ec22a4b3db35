#include "heddle/runtime/train/active_inputs.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "heddle/kernels/arithmetic.hpp"

namespace heddle {

namespace {

/// The inputs that are 0 in all rows; none if they are fewer than a group.
std::vector<std::size_t> zero_inputs(std::span<const float> rows, std::size_t inputs) {
  std::vector<std::size_t> zeros(inputs);
  std::iota(zeros.begin(), zeros.end(), std::size_t{0});
  for (std::size_t row = 0; row < rows.size(); row += inputs) {
    std::erase_if(zeros, [&](std::size_t j) { return rows[row + j] != 0.0F; });
    if (zeros.size() < at(ActiveInputs::kGroup)) return {};
  }
  return zeros;
}

/// The numbers of lines, of which each has a mark for every number, whose mark is `wanted`.
std::vector<float> marked(std::span<const float> lines, std::span<const char> marks, char wanted) {
  std::vector<float> found;
  const auto of_line = static_cast<std::size_t>(std::ranges::count(marks, wanted));
  found.reserve(lines.size() / marks.size() * of_line);
  for (std::size_t line = 0; line < lines.size(); line += marks.size()) {
    for (std::size_t i = 0; i < marks.size(); ++i) {
      if (marks[i] == wanted) found.push_back(lines[line + i]);
    }
  }
  return found;
}

}  // namespace

ActiveInputs::ActiveInputs(const mlp::Layers& layers) : inputs_(layers.inputs()), layers_(layers) {}

ActiveInputs::ActiveInputs(const mlp::Layers& layers, std::span<const float> rows,
                           const std::function<bool(std::size_t)>& rests)
    : ActiveInputs(layers) {
  std::vector<std::size_t> zeros = zero_inputs(rows, at(inputs_));
  std::erase_if(zeros, [&](std::size_t input) {
    for (std::int64_t neuron = 0; neuron < layers.sizes[1]; ++neuron) {
      if (!rests(at(neuron * inputs_) + input)) return true;
    }
    return false;
  });
  const std::int64_t most = std::min(static_cast<std::int64_t>(zeros.size()), inputs_ - 1);
  zeros.resize(at(most / kGroup * kGroup));
  if (zeros.empty()) return;
  layers_.sizes[0] -= static_cast<int>(zeros.size());
  rests_.resize(at(layers.parameters()), 0);
  for (std::int64_t neuron = 0; neuron < layers.sizes[1]; ++neuron) {
    for (const std::size_t input : zeros) rests_[at(neuron * inputs_) + input] = 1;
  }
}

std::vector<float> ActiveInputs::of_rows(std::span<const float> rows) const {
  if (all()) return {rows.begin(), rows.end()};
  // The first neuron has a weight for each input, in their order.
  return marked(rows, std::span(rests_).first(at(inputs_)), 0);
}

std::vector<float> ActiveInputs::active(std::span<const float> arrays) const {
  if (all()) return {arrays.begin(), arrays.end()};
  return marked(arrays, rests_, 0);
}

std::vector<float> ActiveInputs::resting(std::span<const float> arrays) const {
  if (all()) return {};
  return marked(arrays, rests_, 1);
}

std::vector<float> ActiveInputs::together(std::vector<float> active, std::span<const float> resting) const {
  if (all()) return active;
  std::vector<float> arrays;
  arrays.reserve(active.size() + resting.size());
  auto next_active = active.cbegin();
  auto next_resting = resting.begin();
  while (next_active != active.cend()) {
    for (const char rests : rests_) arrays.push_back(rests != 0 ? *next_resting++ : *next_active++);
  }
  return arrays;
}

}  // namespace heddle
