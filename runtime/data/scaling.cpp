#include "heddle/runtime/data/scaling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/text.hpp"

namespace heddle {
namespace {

struct Column {
  double smallest = std::numeric_limits<double>::infinity();
  double largest = -std::numeric_limits<double>::infinity();
  double mean = 0.0, variance = 0.0;
};

/// Two passes: a mean far from zero must not swallow the variance.
std::vector<Column> statistics(std::span<const float> values, std::int64_t columns) {
  std::vector<Column> all(static_cast<std::size_t>(columns));
  const std::size_t count = values.size() / all.size();
  const auto rows = static_cast<double>(count);
  for (std::size_t i = 0; i < values.size(); ++i) {
    Column& column = all[i % all.size()];
    const double value = values[i];
    column.smallest = std::min(column.smallest, value);
    column.largest = std::max(column.largest, value);
    column.mean += value / rows;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    Column& column = all[i % all.size()];
    column.variance += (values[i] - column.mean) * (values[i] - column.mean) / rows;
  }
  return all;
}

}  // namespace

std::string_view text(Scale scale) {
  switch (scale) {
    case Scale::none:
      return "none";
    case Scale::minmax:
      return "minmax";
    case Scale::zscore:
      return "zscore";
    case Scale::unit:
      return "unit";
  }
  return "";
}

Scale parse_scale(std::string_view word) {
  for (const Scale scale : {Scale::none, Scale::minmax, Scale::zscore, Scale::unit}) {
    if (text(scale) == word) return scale;
  }
  throw Error(ErrorKind::usage, "--scale: found " + in_quotes(word) + ", expected none, minmax, zscore or unit");
}

Scaling fit_scaling(Scale kind, std::span<const float> values, std::int64_t columns) {
  Scaling scaling{.kind = kind, .offset = {}, .factor = {}};
  const std::vector<Column> all = statistics(values, columns);
  double size = 0.0;  // the largest
  for (const Column& column : all) size = std::max({size, std::abs(column.smallest), std::abs(column.largest)});
  for (const Column& column : all) {
    // Not the variance: rounding leaves a constant column a tiny one.
    const bool constant = column.smallest == column.largest;
    switch (kind) {
      case Scale::none:
        scaling.offset.push_back(0.0);
        scaling.factor.push_back(1.0);
        break;
      case Scale::minmax:
        scaling.offset.push_back(column.smallest);
        scaling.factor.push_back(constant ? 0.0 : 1.0 / (column.largest - column.smallest));
        break;
      case Scale::zscore:
        scaling.offset.push_back(constant ? column.smallest : column.mean);
        scaling.factor.push_back(constant ? 0.0 : 1.0 / std::sqrt(column.variance));
        break;
      case Scale::unit:
        scaling.offset.push_back(0.0);
        scaling.factor.push_back(size == 0.0 ? 1.0 : 1.0 / size);
        break;
    }
  }
  return scaling;
}

Scaling declared_scaling(std::span<const Range> ranges) {
  Scaling scaling{.kind = Scale::minmax, .offset = {}, .factor = {}};
  for (const Range& range : ranges) {
    scaling.offset.push_back(range.low);
    scaling.factor.push_back(1.0 / (static_cast<double>(range.high) - range.low));
  }
  return scaling;
}

double Scaling::largest_size(std::span<const float> values) const {
  double largest = 0.0;
  for (std::size_t first = 0; first < values.size(); first += offset.size()) {
    for (std::size_t j = 0; j < offset.size(); ++j) {
      largest = std::max(largest, std::abs((values[first + j] - offset[j]) * factor[j]));
    }
  }
  return largest;
}

std::optional<std::size_t> Scaling::first_beyond(std::span<const float> values, double largest) const {
  for (std::size_t first = 0; first < values.size(); first += offset.size()) {
    for (std::size_t j = 0; j < offset.size(); ++j) {
      if (!(std::abs((values[first + j] - offset[j]) * factor[j]) <= largest)) return first + j;
    }
  }
  return std::nullopt;
}

void Scaling::check(std::span<const float> values, std::string_view source, double largest,
                    std::span<const std::int64_t> numbers) const {
  const std::optional<std::size_t> beyond = first_beyond(values, largest);
  if (!beyond) return;
  const std::size_t row = *beyond / offset.size(), j = *beyond % offset.size();
  const double reach = largest / std::abs(factor[j]);
  throw Error(
      ErrorKind::input,
      fmt::format("{}: found {} in row {}, number {}, expected a number from {:.3g} to {:.3g}, with which float32 "
                  "can compute",
                  source, values[*beyond], numbers.empty() ? static_cast<std::int64_t>(row) + 1 : numbers[row], j + 1,
                  offset[j] - reach, offset[j] + reach));
}

std::vector<float> Scaling::apply(std::span<const float> values, std::string_view source, double largest,
                                  std::span<const std::int64_t> numbers) const {
  std::vector<float> scaled(values.size());
  double found = 0.0;
  for (std::size_t first = 0; first < values.size(); first += offset.size()) {
    for (std::size_t j = 0; j < offset.size(); ++j) {
      const double value = (values[first + j] - offset[j]) * factor[j];
      found = std::max(found, std::abs(value));
      scaled[first + j] = static_cast<float>(value);
    }
  }
  if (found > largest) check(values, source, largest, numbers);
  return scaled;
}

std::vector<float> Scaling::invert(std::span<const float> scaled) const {
  constexpr double kLargest = std::numeric_limits<float>::max();
  std::vector<float> values(scaled.size());
  for (std::size_t i = 0; i < scaled.size(); ++i) {
    const std::size_t j = i % offset.size();
    const double value = offset[j] + (factor[j] == 0.0 ? 0.0 : scaled[i] / factor[j]);
    values[i] = static_cast<float>(std::clamp(value, -kLargest, kLargest));
  }
  return values;
}

double spread(std::span<const float> values, std::int64_t columns) {
  double sum = 0.0;
  for (const Column& column : statistics(values, columns)) sum += column.variance;
  return std::sqrt(sum);
}

}  // namespace heddle
