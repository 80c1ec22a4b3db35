#include "heddle/kernels/mlp/reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "heddle/kernels/arithmetic.hpp"

namespace heddle::mlp {
namespace {

void activate(std::vector<double>& sums, Activation kind) {
  switch (kind) {
    case kSigmoid:
      for (double& a : sums) a = 1.0 / (1.0 + std::exp(-a));
      return;
    case kTanh:
      for (double& a : sums) a = std::tanh(a);
      return;
    case kRelu:
      for (double& a : sums) a = std::max(a, 0.0);
      return;
    case kLinear:
      return;
    case kSoftmax: {
      const double largest = *std::max_element(sums.begin(), sums.end());
      double all = 0.0;
      for (double& a : sums) all += a = std::exp(a - largest);
      for (double& a : sums) a /= all;
      return;
    }
  }
}

/// Of an activation whose value is y.
double slope(double y, Activation kind) {
  switch (kind) {
    case kSigmoid:
      return y * (1.0 - y);
    case kTanh:
      return 1.0 - y * y;
    case kRelu:
      return y > 0.0 ? 1.0 : 0.0;
    case kLinear:
    case kSoftmax:  // together with the cross-entropy
      return 1.0;
  }
  return 1.0;
}

/// Whether float32 makes the slope by a subtraction, which for a saturated neuron leaves little but rounding.
bool subtracts(Activation kind) { return kind == kSigmoid || kind == kTanh; }

double norm(const std::vector<double>& values) {
  double squares = 0.0;
  for (const double value : values) squares += value * value;
  return std::sqrt(squares);
}

/// With these options a weight is changed by its gradient; the rules as published, in float64.
class Learner {
 public:
  Learner(const Control& control, const Progress& counted) : control_(control), counted_(counted) {}

  void operator()(double gradient, double& weight, double& s0, double& s1, double& s2) const {
    switch (static_cast<Rule>(control_.rule)) {
      case kPlain:
        weight -= rate() * (gradient + decay() * weight);
        return;
      case kAdaptive:
        return adaptive(gradient, weight, s0, s1, s2);
      case kRprop:
        return rprop(gradient, weight, s0, s1);
      case kAdam:
        return adam(gradient, weight, s0, s1);
    }
  }

 private:
  [[nodiscard]] double rate() const { return control_.rate; }
  [[nodiscard]] double decay() const { return control_.decay; }

  void adaptive(double gradient, double& weight, double& eta, double& last, double& velocity) const {
    const double descent = -gradient;
    eta *= static_cast<double>(descent * last > 0.0 ? control_.step_up : control_.step_down);
    eta = std::min<double>(eta, control_.largest_step);
    last = descent;
    velocity = descent + static_cast<double>(control_.momentum) * velocity;
    const double next = weight + eta * velocity - eta * decay() * weight;
    if (std::abs(next) <= static_cast<double>(std::numeric_limits<float>::max())) {
      weight = next;
      return;
    }
    last = velocity = 0.0;
    if (control_.robust != 0) eta *= static_cast<double>(control_.robust_factor);
  }

  void rprop(double gradient, double& weight, double& eta, double& last) const {
    const double agreement = gradient * last;
    if (agreement > 0.0) eta = std::min<double>(eta * static_cast<double>(control_.step_up), control_.largest_step);
    if (agreement < 0.0) eta = std::max<double>(eta * static_cast<double>(control_.step_down), control_.smallest_step);
    const double counted = agreement < 0.0 ? 0.0 : gradient;
    weight -= eta * decay() * weight;
    if (counted != 0.0) weight -= std::copysign(eta, counted);
    last = counted;
  }

  void adam(double gradient, double& weight, double& first, double& second) const {
    const double b1 = control_.beta1, b2 = control_.beta2;
    first = b1 * first + (1.0 - b1) * gradient;
    second = b2 * second + (1.0 - b2) * gradient * gradient;
    const double mean = first / (1.0 - counted_.beta1_power), square = second / (1.0 - counted_.beta2_power);
    weight -= rate() * decay() * weight;
    weight -= rate() * mean / (std::sqrt(square) + static_cast<double>(control_.epsilon));
  }

  const Control& control_;
  const Progress& counted_;
};

}  // namespace

Reference::Reference(const Layers& layers, std::span<const float> parameters, std::span<const float> state,
                     const Progress& progress)
    : layers_(layers),
      parameters_(parameters.begin(), parameters.end()),
      state_(state.begin(), state.end()),
      progress_(progress) {
  state_.resize(kStateArrays * parameters_.size());
}

Reference::Pass Reference::forward(std::span<const float> row, Activation hidden, Activation output) const {
  constexpr double kClose = 2e-6;  // of the sum of sizes
  Pass pass{.values = {{row.begin(), row.end()}}, .close_to_0 = {std::vector<bool>(row.size())}};
  pass.values.reserve(at(layers_.count) + 1);
  pass.close_to_0.reserve(at(layers_.count) + 1);
  for (int l = 0; l < layers_.count; ++l) {
    const std::vector<double>& x = pass.values.back();
    const double* weights = parameters_.data() + layers_.weights_at(l);
    const double* biases = parameters_.data() + layers_.biases_at(l);
    std::vector<double> sums(at(layers_.sizes[l + 1]));
    std::vector<bool> close(sums.size());
    for (std::size_t o = 0; o < sums.size(); ++o, weights += x.size()) {
      double sum = biases[o], size = std::abs(sum);
      for (std::size_t i = 0; i < x.size(); ++i) {
        sum += weights[i] * x[i];
        size += std::abs(weights[i] * x[i]);
      }
      sums[o] = sum;
      close[o] = std::abs(sum) <= kClose * size;
    }
    activate(sums, l + 1 == layers_.count ? output : hidden);
    pass.values.push_back(std::move(sums));
    pass.close_to_0.push_back(std::move(close));
  }
  return pass;
}

std::vector<double> Reference::layer(std::span<const float> row, int layer, Activation hidden,
                                     Activation output) const {
  return std::move(forward(row, hidden, output).values[at(layer)]);
}

std::vector<double> Reference::predict(std::span<const float> rows, Activation hidden, Activation output) const {
  const std::size_t inputs = at(layers_.inputs());
  std::vector<double> all;
  all.reserve(rows.size() / inputs * at(layers_.outputs()));
  for (std::size_t first = 0; first < rows.size(); first += inputs) {
    const std::vector<double> of_row = layer(rows.subspan(first, inputs), layers_.count, hidden, output);
    all.insert(all.end(), of_row.begin(), of_row.end());
  }
  return all;
}

std::vector<double> Reference::growth_of_deltas() const {
  std::vector<double> growth(at(layers_.count));
  for (int l = 0; l < layers_.count; ++l) {
    double squares = 0.0;
    for (std::int64_t i = layers_.weights_at(l); i < layers_.biases_at(l); ++i) squares += square(parameters_[at(i)]);
    growth[at(l)] = std::sqrt(squares / static_cast<double>(layers_.sizes[l + 1]));
  }
  return growth;
}

Gradient Reference::gradient(const Batch& batch, std::int64_t first, std::int64_t count, Activation hidden,
                             Activation output) const {
  constexpr double kRounding = 1e-6;
  const std::size_t inputs = at(layers_.inputs()), outputs = at(layers_.outputs());
  const std::vector<double> growth = growth_of_deltas();
  Gradient result;
  result.values.resize(parameters_.size());
  result.unsure.resize(at(layers_.count));
  for (std::int64_t place = first; place < first + count; ++place) {
    const std::size_t row = at(batch.order.empty() ? place : batch.order[at(place)]);
    const std::span<const float> target = batch.targets.subspan(row * outputs, outputs);
    const Pass pass = forward(batch.rows.subspan(row * inputs, inputs), hidden, output);
    std::vector<double> delta(outputs);
    double doubt = 0.0;  // by how much rounding may change the norm of `delta`, beyond a millionth of it
    for (std::size_t o = 0; o < outputs; ++o) {
      const double y = pass.values.back()[o], error = y - static_cast<double>(target[o]);
      doubt += kRounding * (std::abs(y) * std::abs(slope(y, output)) + (subtracts(output) ? std::abs(error) : 0.0));
      result.squares += error * error;
      if (output != kSoftmax) result.loss += 0.5 * error * error;
      if (output == kSoftmax && target[o] > 0.0F) result.loss -= static_cast<double>(target[o]) * std::log(y);
      const bool flips = output == kRelu && pass.close_to_0.back()[o];
      if (flips) result.unsure.back() += std::abs(error) * (1.0 + norm(pass.values[at(layers_.count) - 1]));
      delta[o] = error * slope(y, output);
    }
    for (int l = layers_.count - 1; l >= 0; --l) {
      const std::vector<double>& x = pass.values[at(l)];
      double* own = result.values.data() + layers_.weights_at(l);
      const double* weights = parameters_.data() + layers_.weights_at(l);
      std::vector<double> before(x.size());
      for (std::size_t o = 0; o < delta.size(); ++o, own += x.size(), weights += x.size()) {
        for (std::size_t i = 0; i < x.size(); ++i) own[i] += delta[o] * x[i];
        for (std::size_t i = 0; i < x.size(); ++i) before[i] += delta[o] * weights[i];
      }
      for (const double value : delta) *own++ += value;
      result.unsure[at(l)] += (kRounding * norm(delta) + doubt) * (1.0 + norm(x));
      if (l == 0) break;
      // Doubts have any direction: a layer and its slopes multiply them as on average over all, also where the deltas
      // that slopes let through have cancelled each other.
      doubt *= growth[at(l)];
      const double size = norm(before);
      std::vector<double> slopes(x.size());
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (hidden == kRelu && pass.close_to_0[at(l)][i]) {
          for (int below = 0; below < l; ++below) {
            result.unsure[at(below)] += 2.0 * std::abs(before[i]) * (1.0 + norm(pass.values[at(below)]));
          }
        }
        slopes[i] = slope(x[i], hidden);
        before[i] *= slopes[i];
      }
      delta = std::move(before);
      doubt *= norm(slopes) / std::sqrt(static_cast<double>(x.size()));
      if (subtracts(hidden)) doubt += kRounding * size;
    }
  }
  return result;
}

bool Reference::step(const Batch& batch, const Control& control) {
  constexpr int kAny = std::numeric_limits<int>::max();
  if (!goes_on(control, progress_, 0, kAny)) return false;
  const int rows = rows_of_step(control, progress_);
  Gradient found = gradient(batch, progress_.position, rows, static_cast<Activation>(control.hidden),
                            static_cast<Activation>(control.output));
  if (control.gradient_sum == 0) {
    for (double& value : found.values) value /= rows;
  }
  learn(control, found.squares, found.values);
  return true;
}

Decision Reference::learn(const Control& control, double squares, std::span<const double> values) {
  const int epochs = progress_.epoch;
  double sum = 0.0;
  const Decision decision = count_step(control, layers_.outputs(), squares, progress_, &sum, 1);
  if (progress_.epoch > epochs) errors_.push_back(sum);
  if (decision == kLeave) return decision;
  const std::size_t count = parameters_.size();
  double *s0 = state_.data(), *s1 = s0 + count, *s2 = s1 + count, *best = s2 + count;
  if (decision == kRestore) {
    std::copy_n(best, count, parameters_.begin());
    for (std::size_t i = 0; i < count; ++i) s0[i] *= static_cast<double>(control.robust_factor);
    std::fill_n(s1, 2 * count, 0.0);
    return decision;
  }
  if (decision == kKeepAndLearn) std::copy_n(parameters_.begin(), count, best);
  const Learner learner(control, progress_);
  for (std::size_t i = 0; i < count; ++i) learner(values[i], parameters_[i], s0[i], s1[i], s2[i]);
  return decision;
}

}  // namespace heddle::mlp
