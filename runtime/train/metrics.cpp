#include "heddle/runtime/train/metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
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

}  // namespace

void RunningMetrics::add(const Model& model, const Dataset& data, std::span<const float> outputs) {
  if (model.task == Task::classify) {
    add_classes(model, data, outputs);
  } else {
    add_targets(model, data, outputs);
  }
}

void RunningMetrics::add_classes(const Model& model, const Dataset& data, std::span<const float> outputs) {
  names_ = data.classes;
  const std::size_t count = names_.size();
  confusion_.resize(count * count);
  const std::vector<std::int32_t> predicted = predicted_classes(outputs, model.outputs());
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    confusion_[at(data.labels[i]) * count + at(predicted[i])] += 1;
  }
  rows_ += data.rows();
}

void RunningMetrics::add_targets(const Model& model, const Dataset& data, std::span<const float> outputs) {
  names_ = data.target_names;
  targets_.resize(at(data.targets_per_row));
  const std::vector<float> values = model.targets.invert(outputs);
  for (std::size_t i = 0; i < values.size();) {
    ++rows_;
    for (TargetSums& sums : targets_) {
      const auto target = static_cast<double>(data.targets[i]), value = static_cast<double>(values[i]);
      // Welford's update: a difference of large sums of squares would lose the deviations of targets far from 0.
      const double step = target - sums.mean;
      sums.mean += step / static_cast<double>(rows_);
      sums.deviations += step * (target - sums.mean);
      sums.smallest = std::min(sums.smallest, target);
      sums.largest = std::max(sums.largest, target);
      sums.squares += square(value - target);
      ++i;
    }
  }
}

Metrics RunningMetrics::metrics() const {
  Metrics found;
  found.rows = rows_;
  if (targets_.empty()) {
    measure_classes(found);
  } else {
    measure_targets(found);
  }
  return found;
}

void RunningMetrics::measure_classes(Metrics& found) const {
  const std::size_t count = names_.size();
  found.confusion = confusion_;
  double hits = 0.0, sum = 0.0, defined = 0.0;
  found.classes.reserve(count);
  for (std::size_t c = 0; c < count; ++c) {
    std::int64_t rows = 0, named = 0;
    for (std::size_t other = 0; other < count; ++other) {
      rows += confusion_[c * count + other];
      named += confusion_[other * count + c];
    }
    const auto right = static_cast<double>(confusion_[c * count + c]);
    hits += right;
    ClassMetrics own{.name = names_[c],
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
  found.accuracy = hits / static_cast<double>(rows_);
  found.macro_f1 = ratio(sum, defined);
}

void RunningMetrics::measure_targets(Metrics& found) const {
  found.targets.reserve(targets_.size());
  for (std::size_t l = 0; l < targets_.size(); ++l) {
    const TargetSums& sums = targets_[l];
    // Not the deviations: rounding of the mean leaves a constant target tiny ones.
    const bool constant = sums.smallest == sums.largest;
    const std::optional<double> unexplained = constant ? std::nullopt : ratio(sums.squares, sums.deviations);
    found.targets.push_back({.name = names_.empty() ? fmt::format("output_{}", l + 1) : names_[l],
                             .rmse = std::sqrt(sums.squares / static_cast<double>(rows_)),
                             .r2 = unexplained ? std::optional(1.0 - *unexplained) : std::nullopt});
  }
}

Metrics metrics(const Model& model, const Dataset& data, std::span<const float> outputs) {
  RunningMetrics all;
  all.add(model, data, outputs);
  return all.metrics();
}

}  // namespace heddle
