// A step of a perceptron's training in float32, one addition after the other: what a kernel may do at worst.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "heddle/kernels/arithmetic.hpp"
#include "heddle/kernels/mlp/comparison.hpp"
#include "heddle/kernels/mlp/reference.hpp"
#include "heddle/kernels/mlp/rules.hpp"
#include "heddle/kernels/mlp/workload.hpp"

namespace heddle::mlp {

/// What a kernel may do wrong.
enum class Fault {
  none,
  last_row_left_out,
  slope_left_out,        ///< of hidden neurons
  last_neuron_left_out,  ///< where a layer hands deltas back
};

inline void activate_plain(std::vector<float>& sums, Activation kind) {
  float all = 0.0F;
  const float largest = *std::max_element(sums.begin(), sums.end());
  for (float& a : sums) {
    switch (kind) {
      case kSigmoid:
        a = 1.0F / (1.0F + std::exp(-a));
        break;
      case kTanh:
        a = std::tanh(a);
        break;
      case kRelu:
        a = std::max(a, 0.0F);
        break;
      case kLinear:
        break;
      case kSoftmax:
        all += a = std::exp(a - largest);
        break;
    }
  }
  if (kind == kSoftmax) {
    for (float& a : sums) a /= all;
  }
}

inline float slope_plain(float y, Activation kind) {
  return kind == kSigmoid ? y * (1.0F - y) : kind == kTanh ? 1.0F - y * y : kind == kRelu && y <= 0.0F ? 0.0F : 1.0F;
}

/// Adds a row's gradient; returns its squared errors.
inline double add_plain_gradient(const Workload& work, const std::vector<float>& parameters, std::size_t row,
                                 std::vector<float>& gradient, Fault fault) {
  const Layers& layers = work.layers;
  const std::size_t inputs = at(layers.inputs()), outputs = at(layers.outputs());
  const auto activation = [&](int l) {
    return static_cast<Activation>(l + 1 == layers.count ? work.control.output : work.control.hidden);
  };
  const auto from = work.rows.begin() + static_cast<std::ptrdiff_t>(row * inputs);
  std::vector<std::vector<float>> values{{from, from + static_cast<std::ptrdiff_t>(inputs)}};
  for (int l = 0; l < layers.count; ++l) {
    const std::vector<float>& x = values.back();
    std::vector<float> sums(at(layers.sizes[l + 1]));
    for (std::size_t o = 0; o < sums.size(); ++o) {
      sums[o] = parameters[at(layers.biases_at(l)) + o];
      const float* const weights = parameters.data() + at(layers.weights_at(l)) + o * x.size();
      for (std::size_t i = 0; i < x.size(); ++i) sums[o] += weights[i] * x[i];
    }
    activate_plain(sums, activation(l));
    values.push_back(std::move(sums));
  }
  std::vector<float> delta(outputs);
  double squares = 0.0;
  for (std::size_t o = 0; o < outputs; ++o) {
    const float y = values.back()[o], error = y - work.targets[row * outputs + o];
    squares += static_cast<double>(error) * static_cast<double>(error);
    delta[o] = error * slope_plain(y, activation(layers.count - 1));
  }
  for (int l = layers.count - 1; l >= 0; --l) {
    const std::vector<float>& x = values[at(l)];
    std::vector<float> before(x.size());
    for (std::size_t o = 0; o < delta.size(); ++o) {
      const std::size_t first = at(layers.weights_at(l)) + o * x.size();
      for (std::size_t i = 0; i < x.size(); ++i) gradient[first + i] += delta[o] * x[i];
      const bool left_out = fault == Fault::last_neuron_left_out && o + 1 == delta.size();
      for (std::size_t i = 0; !left_out && i < x.size(); ++i) before[i] += delta[o] * parameters[first + i];
      gradient[at(layers.biases_at(l)) + o] += delta[o];
    }
    for (std::size_t i = 0; fault != Fault::slope_left_out && l > 0 && i < x.size(); ++i) {
      before[i] *= slope_plain(x[i], activation(l - 1));
    }
    delta = std::move(before);
  }
  return squares;
}

/// Learns the next step.
inline Moment step_plain(const Workload& work, const Moment& before, Fault fault = Fault::none) {
  const int rows = rows_of_step(work.control, before.progress);
  const Batch batch = work.batch(before.progress.epoch);
  Moment after = before;
  after.gradient.assign(before.parameters.size(), 0.0F);
  double squares = 0.0;
  for (int i = 0; i < rows; ++i) {
    const std::int64_t place = before.progress.position + i;
    const std::size_t row = at(batch.order.empty() ? place : batch.order[at(place)]);
    std::vector<float> unused(after.gradient.size());
    const bool left_out = fault == Fault::last_row_left_out && i + 1 == rows;
    squares += add_plain_gradient(work, before.parameters, row, left_out ? unused : after.gradient, fault);
  }
  if (work.control.gradient_sum == 0) {
    for (float& value : after.gradient) value /= static_cast<float>(rows);
  }
  Reference reference(work.layers, before.parameters, before.state, before.progress);
  reference.learn(work.control, squares, std::vector<double>(after.gradient.begin(), after.gradient.end()));
  after.parameters.assign(reference.parameters().begin(), reference.parameters().end());
  after.state.assign(reference.state().begin(), reference.state().end());
  after.progress = reference.progress();
  if (!reference.errors().empty())
    after.errors[at(before.progress.epoch) % after.errors.size()] = reference.errors()[0];
  return after;
}

}  // namespace heddle::mlp
