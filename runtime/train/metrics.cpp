#include "heddle/runtime/train/metrics.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>

#include "heddle/kernels/arithmetic.hpp"

namespace heddle {

namespace {

/// Nothing where there is nothing to divide by.
std::optional<double> ratio(double part, double whole) {
  if (whole == 0.0) return std::nullopt;
  return part / whole;
}

void measure_classes(const Model& model, const Dataset& data, std::span<const float> outputs, Metrics& found) {
  const std::size_t count = model.classes.size();
  const std::vector<std::int32_t> predicted = predicted_classes(outputs, static_cast<std::int64_t>(count));
  found.confusion.resize(count * count);
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    found.confusion[at(data.labels[i]) * count + at(predicted[i])] += 1;
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
    ClassMetrics own{.name = model.classes[c],
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

void measure_targets(const Model& model, const Dataset& data, std::span<const float> outputs, Metrics& found) {
  const std::vector<float> values = model.targets.invert(outputs);
  const std::size_t count = at(data.targets_per_row);
  const auto rows = static_cast<double>(found.rows);
  found.targets.reserve(count);
  for (std::size_t l = 0; l < count; ++l) {
    double mean = 0.0, squares = 0.0, deviations = 0.0;
    for (std::size_t i = l; i < values.size(); i += count) mean += static_cast<double>(data.targets[i]) / rows;
    for (std::size_t i = l; i < values.size(); i += count) {
      const auto target = static_cast<double>(data.targets[i]);
      squares += square(static_cast<double>(values[i]) - target);
      deviations += square(target - mean);
    }
    const std::optional<double> unexplained = ratio(squares, deviations);
    found.targets.push_back({.name = data.target_names.empty() ? fmt::format("output_{}", l + 1) : data.target_names[l],
                             .rmse = std::sqrt(squares / rows),
                             .r2 = unexplained ? std::optional(1.0 - *unexplained) : std::nullopt});
  }
}

}  // namespace

Metrics metrics(const Model& model, const Dataset& data, std::span<const float> outputs) {
  Metrics found;
  found.rows = data.rows();
  if (model.task == Task::classify) {
    measure_classes(model, data, outputs, found);
  } else {
    measure_targets(model, data, outputs, found);
  }
  return found;
}

}  // namespace heddle
