#include "heddle/kernels/mlp/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "heddle/kernels/arithmetic.hpp"

namespace heddle::mlp {
namespace {

constexpr double kGradientTolerance = 1e-4, kErrorTolerance = 1e-5;

/// Collects what is wrong: the first complaint, and the worst error of all.
class Judgement {
 public:
  void expect(double error, double allowed, std::string_view what) {
    const double found = std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
    accuracy_.worst_error = std::max(accuracy_.worst_error, found);
    if (found <= allowed) return;
    refuse(fmt::format("{}: off by {:.3g}, allowed {:.3g}", what, found, allowed));
  }
  void refuse(std::string line) {
    if (!accuracy_.accepted) return;
    accuracy_.accepted = false;
    accuracy_.worst_error = std::max(accuracy_.worst_error, 1.0);
    accuracy_.message = std::move(line);
  }
  [[nodiscard]] Accuracy accuracy() const { return accuracy_; }

 private:
  Accuracy accuracy_{.accepted = true, .worst_error = 0.0, .message = {}};
};

struct Range {
  std::string name;
  std::size_t first = 0, count = 0;
};
/// Weights and biases of each layer.
std::vector<Range> parts_of(const Layers& layers) {
  std::vector<Range> parts;
  parts.reserve(2 * at(layers.count));
  for (int l = 0; l < layers.count; ++l) {
    const std::size_t weights = at(layers.weights_at(l)), biases = at(layers.biases_at(l));
    parts.push_back({fmt::format("weights of layer {}", l + 1), weights, biases - weights});
    parts.push_back({fmt::format("biases of layer {}", l + 1), biases, at(layers.sizes[l + 1])});
  }
  return parts;
}

/// Sum of squared errors of the rows of the step that lies between two moments.
double squares_of_step(const Moment& before, const Moment& after) {
  if (after.progress.epoch == before.progress.epoch) return after.progress.squares - before.progress.squares;
  return after.errors[at(before.progress.epoch) % after.errors.size()] - before.progress.squares;
}

void compare_gradients(const Workload& work, const Moment& before, const Moment& after, Judgement& judgement) {
  const Control& control = work.control;
  const int rows = rows_of_step(control, before.progress);
  const Reference reference(work.layers, before.parameters);
  const Gradient expected =
      reference.gradient(work.batch(before.progress.epoch), before.progress.position, rows,
                         static_cast<Activation>(control.hidden), static_cast<Activation>(control.output));
  // A softmax of one output is always right.
  const double least = std::numeric_limits<double>::min(), squares = squares_of_step(before, after);
  judgement.expect(std::abs(squares - expected.squares) / std::max(expected.squares, least), kErrorTolerance,
                   "sum of squared errors");
  const double factor = control.gradient_sum != 0 ? 1.0 : 1.0 / rows;
  const std::vector<Range> parts = parts_of(work.layers);
  for (std::size_t part = 0; part < parts.size(); ++part) {
    double difference = 0.0, size = 0.0;
    for (std::size_t i = parts[part].first; i < parts[part].first + parts[part].count; ++i) {
      const double right = factor * expected.values[i];
      difference += square(static_cast<double>(after.gradient[i]) - right);
      size += square(right);
    }
    const double unsure = factor * expected.unsure[part / 2];
    const double whole = std::sqrt(size) + unsure / kGradientTolerance + std::numeric_limits<float>::min();
    judgement.expect(std::sqrt(difference) / whole, kGradientTolerance, "gradient of the " + parts[part].name);
  }
}

void compare_numbers(std::span<const float> before, std::span<const float> found, std::span<const double> expected,
                     const std::string& what, Judgement& judgement) {
  constexpr double kOfChange = 1e-5, kOfNumber = 3e-7, kOfLargest = 2e-6;
  double largest = 0.0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (std::isfinite(before[i])) largest = std::max(largest, std::abs(expected[i] - static_cast<double>(before[i])));
  }
  double worst = 0.0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double number = static_cast<double>(found[i]), difference = std::abs(number - expected[i]);
    if (number == expected[i]) continue;
    const double change = std::isfinite(before[i]) ? std::abs(expected[i] - static_cast<double>(before[i])) : 0.0;
    const double allowed = kOfChange * change + kOfNumber * std::abs(expected[i]) + kOfLargest * largest;
    worst = std::max(worst, std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference / allowed);
  }
  if (worst > 1.0) judgement.refuse(fmt::format("{}: {:.3g} times as far off as rounding explains", what, worst));
}

void compare_rules(const Workload& work, const Moment& before, const Moment& after, Judgement& judgement) {
  Reference reference(work.layers, before.parameters, before.state, before.progress);
  const std::vector<double> own(after.gradient.begin(), after.gradient.end());
  reference.learn(work.control, squares_of_step(before, after), own);
  const Progress &found = after.progress, &right = reference.progress();
  if (found.steps != right.steps || found.epoch != right.epoch || found.position != right.position ||
      found.halted != right.halted || found.restores != right.restores) {
    judgement.refuse(fmt::format("{} steps, epoch {}, position {}, halted {}, {} restores; expected {}, {}, {}, {}, {}",
                                 found.steps, found.epoch, found.position, found.halted, found.restores, right.steps,
                                 right.epoch, right.position, right.halted, right.restores));
  }
  constexpr double kExact = 1e-12;
  judgement.expect(std::abs(found.best / right.best - 1.0), 1e-9, "smallest error");
  judgement.expect(std::abs(found.beta1_power - right.beta1_power), kExact, "power of beta 1");
  judgement.expect(std::abs(found.beta2_power - right.beta2_power), kExact, "power of beta 2");
  if (found.position == 0 && found.squares != 0.0)
    judgement.refuse("errors of an epoch that is over are still counted");
  for (const Range& part : parts_of(work.layers)) {
    compare_numbers(std::span(before.parameters).subspan(part.first, part.count),
                    std::span(after.parameters).subspan(part.first, part.count),
                    std::span(reference.parameters()).subspan(part.first, part.count), part.name, judgement);
  }
  const std::size_t count = before.parameters.size();
  for (std::size_t s = 0; s < kStateArrays; ++s) {
    compare_numbers(std::span(before.state).subspan(s * count, count), std::span(after.state).subspan(s * count, count),
                    std::span(reference.state()).subspan(s * count, count), fmt::format("state {}", s), judgement);
  }
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

bool same_progress(const Progress& a, const Progress& b) {
  return a.steps == b.steps && a.epoch == b.epoch && a.position == b.position && a.halted == b.halted &&
         a.restores == b.restores && a.squares == b.squares && a.best == b.best && a.beta1_power == b.beta1_power &&
         a.beta2_power == b.beta2_power;
}

}  // namespace

Moment moment_of(const HostImage& image) {
  return {.parameters = values_of<float>(image, "parameters"),
          .state = values_of<float>(image, "state"),
          .gradient = values_of<float>(image, "gradient"),
          .progress = values_of<Progress>(image, "progress").front(),
          .errors = values_of<double>(image, "errors")};
}

Accuracy compare_step(const Workload& work, const Moment& before, const Moment& after) {
  Judgement judgement;
  if (!goes_on(work.control, before.progress, 0, 1)) {
    const bool same = same_bits(before.parameters, after.parameters) && same_bits(before.state, after.state) &&
                      same_progress(before.progress, after.progress);
    if (!same) judgement.refuse("a run after the end of training changes something");
    return judgement.accuracy();
  }
  compare_gradients(work, before, after, judgement);
  compare_rules(work, before, after, judgement);
  return judgement.accuracy();
}

Accuracy compare_moments(const Moment& found, const Moment& expected) {
  Judgement judgement;
  const auto expect = [&](bool same, std::string_view what) {
    if (!same) judgement.refuse(fmt::format("{} after several steps in one run: other bits than step by step", what));
  };
  expect(same_bits(found.parameters, expected.parameters), "parameters");
  expect(same_bits(found.state, expected.state), "states");
  expect(same_bits(found.gradient, expected.gradient), "gradient");
  expect(same_progress(found.progress, expected.progress), "progress");
  return judgement.accuracy();
}

}  // namespace heddle::mlp
