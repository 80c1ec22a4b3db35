#include "heddle/tuner/space/coordinates.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "fmt/format.h"
#include "heddle/kernels/error.hpp"

namespace heddle {

namespace {

constexpr float kNoOrder = -1.0F;
constexpr int kMostHalvings = 5;  // beyond the width of a warp nothing is gained by another factor of two

std::optional<double> number(const Value& value) {
  if (const auto known = as_number(value)) return known;
  const std::string& word = std::get<std::string>(value);
  double result = 0.0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), result);
  if (error != std::errc() || end != word.data() + word.size() || !std::isfinite(result)) return std::nullopt;
  return result;
}

/// Orders the values if all are numbers. Returns the level of each.
std::vector<Coordinates::Level> describe(const Coordinates::Column& column, Coordinates::Parameter& parameter) {
  const std::size_t count = column.values.size();
  parameter.levels = count + (column.absent_somewhere ? 1 : 0);
  parameter.position.assign(parameter.levels, kNoOrder);
  parameter.evenness.assign(parameter.levels, 0.0F);
  parameter.off_middle.assign(parameter.levels, 0.0F);
  std::vector<Coordinates::Level> level(count);
  for (std::size_t i = 0; i < count; ++i) level[i] = static_cast<Coordinates::Level>(i);

  std::vector<std::pair<double, std::size_t>> numbers;
  for (std::size_t i = 0; i < count; ++i) {
    if (const auto value = number(column.values[i])) numbers.emplace_back(*value, i);
  }
  if (numbers.size() < count || count < 2) return level;
  std::sort(numbers.begin(), numbers.end());
  const double least = numbers.front().first;
  const double most = numbers.back().first;
  if (most == least) return level;  // one number spelt in several ways
  const bool logarithmic = least > 0.0;
  if (logarithmic) parameter.octaves = static_cast<float>(std::log2(most / least));
  const auto scale = [&](double value) { return logarithmic ? std::log2(value) : value; };
  std::vector<float> halvings;
  bool told_by_position = true;
  for (std::size_t i = 0; i < count; ++i) {
    const double value = numbers[i].first;
    level[numbers[i].second] = static_cast<Coordinates::Level>(i);
    parameter.position[i] = static_cast<float>((scale(value) - scale(least)) / (scale(most) - scale(least)));
    const double along = (value - least) / (most - least);
    parameter.off_middle[i] = static_cast<float>(count == 2 ? 0.25 * along : std::abs(along - 0.5));
    const bool whole = value == std::floor(value) && value > 0.0 && value < 1e15;
    const auto bits = whole ? static_cast<std::uint64_t>(value) : std::uint64_t{1};
    halvings.push_back(static_cast<float>(std::min(kMostHalvings, std::countr_zero(bits))));
    told_by_position = told_by_position && std::has_single_bit(bits);
  }
  const float largest = *std::max_element(halvings.begin(), halvings.end());
  if (!told_by_position && count > 3 && largest > 0.0F) {
    for (std::size_t i = 0; i < count; ++i) parameter.evenness[i] = halvings[i] / largest;
  }
  return level;
}

}  // namespace

Coordinates::Coordinates(std::vector<Column> columns)
    : columns_(std::move(columns)),
      parameter_of_(columns_.size()),
      level_of_(columns_.size()),
      value_at_(columns_.size()) {
  // By name, so that the order of the parameters has no influence.
  std::map<std::string, std::size_t> by_name;
  for (std::size_t c = 0; c < columns_.size(); ++c) by_name.emplace(columns_[c].name, c);
  for (const auto& [name, c] : by_name) {
    const Column& column = columns_[c];
    const std::size_t levels = column.values.size() + (column.absent_somewhere ? 1 : 0);
    if (levels < 2) continue;
    if (levels > std::numeric_limits<Level>::max()) {
      throw Error(ErrorKind::input, fmt::format("parameter {} has more than 65534 values", name));
    }
    parameter_of_[c] = parameters_.size();
    level_of_[c] = describe(column, parameters_.emplace_back());
    value_at_[c].resize(column.values.size());
    for (std::size_t value = 0; value < column.values.size(); ++value) value_at_[c][level_of_[c][value]] = value;
  }
}

std::optional<std::vector<Coordinates::Level>> Coordinates::encode(const Configuration& configuration) const {
  std::vector<Level> levels(parameters_.size());
  std::size_t found = 0;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const std::vector<Value>& values = columns_[c].values;
    const auto& entries = configuration.entries();
    const auto entry = std::ranges::find(entries, columns_[c].name, &Configuration::Entry::first);
    if (entry == entries.end()) {
      if (!columns_[c].absent_somewhere) return std::nullopt;
      levels[*parameter_of_[c]] = absent(*parameter_of_[c]);
      continue;
    }
    const auto value = std::ranges::find(values, entry->second);
    if (value == values.end()) return std::nullopt;
    if (parameter_of_[c]) levels[*parameter_of_[c]] = level(c, static_cast<std::size_t>(value - values.begin()));
    ++found;
  }
  if (found != configuration.entries().size()) return std::nullopt;
  return levels;
}

Configuration Coordinates::decode(const Level* levels) const {
  std::vector<Configuration::Entry> entries;
  entries.reserve(columns_.size());
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t value = 0;
    if (const auto& parameter = parameter_of_[c]) {
      if (levels[*parameter] >= value_at_[c].size()) continue;  // without a meaning
      value = value_at_[c][levels[*parameter]];
    }
    entries.emplace_back(columns_[c].name, columns_[c].values[value]);
  }
  return Configuration(std::move(entries));
}

float Coordinates::gap(std::size_t parameter, Level a, Level b) const {
  if (a == b) return 0.0F;
  const std::vector<float>& position = parameters_[parameter].position;
  if (position[a] < 0.0F || position[b] < 0.0F) return 2.0F;
  return 1.0F + std::abs(position[a] - position[b]);
}

float Coordinates::distance(const Level* a, const Level* b) const {
  float distance = 0.0F;
  for (std::size_t p = 0; p < parameters_.size(); ++p) distance += gap(p, a[p], b[p]);
  return distance;
}

}  // namespace heddle
