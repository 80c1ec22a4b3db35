#include "heddle/runtime/train/metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "heddle/kernels/arithmetic.hpp"

namespace heddle {

namespace {

/// Nothing where there is nothing to divide by.
std::optional<double> ratio(double part, double whole) {
  if (whole == 0.0) return std::nullopt;
  return part / whole;
}

void measure_classes(std::span<const Dataset> sets, std::span<const Answers> answers, Metrics& found) {
  const std::vector<std::string>& names = sets.front().classes;
  const std::size_t count = names.size();
  found.confusion.resize(count * count);
  for (std::size_t s = 0; s < sets.size(); ++s) {
    for (std::size_t i = 0; i < answers[s].classes.size(); ++i) {
      found.confusion[at(sets[s].labels[i]) * count + at(answers[s].classes[i])] += 1;
    }
  }
  double hits = 0.0, sum = 0.0, defined = 0.0;
  found.classes.reserve(count);
  for (std::size_t c = 0; c < count; ++c) {
    std::int64_t rows = 0, named = 0;
    for (std::size_t other = 0; other < count; ++other) {
      rows += found.confusion[c * count + other];
      named += found.confusion[other * count + c];
    }
    const auto right = static_cast<double>(found.confusion[c * count + c]);
    hits += right;
    ClassMetrics own{.name = names[c],
                     .rows = rows,
                     .precision = ratio(right, static_cast<double>(named)),
                     .recall = ratio(right, static_cast<double>(rows)),
                     .f1 = ratio(2.0 * right, static_cast<double>(rows + named))};
    if (own.f1) {
      sum += *own.f1;
      defined += 1.0;
    }
    found.classes.push_back(std::move(own));
  }
  found.accuracy = hits / static_cast<double>(found.rows);
  found.macro_f1 = ratio(sum, defined);
}

void measure_targets(std::span<const Dataset> sets, std::span<const Answers> answers, Metrics& found) {
  const std::vector<std::string>& names = sets.front().target_names;
  const std::size_t count = at(sets.front().targets_per_row);
  const auto rows = static_cast<double>(found.rows);
  found.targets.reserve(count);
  for (std::size_t l = 0; l < count; ++l) {
    const auto for_each_row = [&](const auto& visit) {
      for (std::size_t s = 0; s < sets.size(); ++s) {
        for (std::size_t i = l; i < answers[s].values.size(); i += count) {
          visit(static_cast<double>(sets[s].targets[i]), static_cast<double>(answers[s].values[i]));
        }
      }
    };
    double mean = 0.0, squares = 0.0, deviations = 0.0;
    double smallest = std::numeric_limits<double>::infinity(), largest = -smallest;
    for_each_row([&](double target, double) {
      mean += target / rows;
      smallest = std::min(smallest, target);
      largest = std::max(largest, target);
    });
    for_each_row([&](double target, double value) {
      squares += square(value - target);
      deviations += square(target - mean);
    });
    // Not the deviations: rounding of the mean leaves a constant target tiny ones.
    const std::optional<double> unexplained = smallest == largest ? std::nullopt : ratio(squares, deviations);
    found.targets.push_back({.name = names.empty() ? fmt::format("output_{}", l + 1) : names[l],
                             .rmse = std::sqrt(squares / rows),
                             .r2 = unexplained ? std::optional(1.0 - *unexplained) : std::nullopt});
  }
}

}  // namespace

Answers answers_of(const Model& model, std::span<const float> outputs) {
  if (model.task == Task::classify) return {.classes = predicted_classes(outputs, model.outputs()), .values = {}};
  return {.classes = {}, .values = model.targets.invert(outputs)};
}

Metrics metrics(std::span<const Dataset> sets, std::span<const Answers> answers) {
  Metrics found;
  for (const Dataset& set : sets) found.rows += set.rows();
  if (sets.front().task == Task::classify) {
    measure_classes(sets, answers, found);
  } else {
    measure_targets(sets, answers, found);
  }
  return found;
}

Metrics metrics(const Model& model, const Dataset& data, std::span<const float> outputs) {
  const Answers answers = answers_of(model, outputs);
  return metrics(std::span(&data, 1), std::span(&answers, 1));
}

}  // namespace heddle
