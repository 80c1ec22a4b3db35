#include "heddle/tuner/strategies/encoded_space.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

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

/// The values of one parameter while they are collected.
struct Values {
  std::map<Value, std::size_t> places;  // in order of appearance
  std::vector<Value> list;
  std::size_t seen = 0;  // configurations that have one
};

/// Orders the values if all are numbers. Returns the level of each place.
std::vector<EncodedSpace::Level> describe(const Values& values, bool absent_somewhere,
                                          EncodedSpace::Parameter& parameter) {
  const std::size_t count = values.list.size();
  parameter.levels = count + (absent_somewhere ? 1 : 0);
  parameter.position.assign(parameter.levels, kNoOrder);
  parameter.evenness.assign(parameter.levels, 0.0F);
  parameter.off_middle.assign(parameter.levels, 0.0F);
  std::vector<EncodedSpace::Level> level(count);
  for (std::size_t i = 0; i < count; ++i) level[i] = static_cast<EncodedSpace::Level>(i);

  std::vector<std::pair<double, std::size_t>> numbers;
  for (std::size_t i = 0; i < count; ++i) {
    if (const auto value = number(values.list[i])) numbers.emplace_back(*value, i);
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
    level[numbers[i].second] = static_cast<EncodedSpace::Level>(i);
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

EncodedSpace::EncodedSpace(const std::vector<Configuration>& configurations) : size_(configurations.size()) {
  std::unordered_map<std::string, std::size_t> columns;
  std::vector<Values> values;
  std::vector<std::vector<std::size_t>> places;  // [column][configuration]
  constexpr std::size_t kAbsent = std::numeric_limits<std::size_t>::max();
  for (std::size_t i = 0; i < size_; ++i) {
    for (const auto& [name, value] : configurations[i].entries()) {
      const auto [column, fresh] = columns.emplace(name, values.size());
      if (fresh) {
        values.emplace_back();
        places.emplace_back(size_, kAbsent);
      }
      Values& own = values[column->second];
      const auto [place, first] = own.places.emplace(value, own.list.size());
      if (first) own.list.push_back(value);
      ++own.seen;
      places[column->second][i] = place->second;
    }
  }
  std::vector<std::size_t> kept;
  std::vector<std::vector<Level>> level_of;
  // By name, so that the order of the parameters has no influence.
  const std::map<std::string, std::size_t> by_name(columns.begin(), columns.end());
  for (const auto& [name, column] : by_name) {
    const bool absent = values[column].seen < size_;
    const std::size_t levels = values[column].list.size() + (absent ? 1 : 0);
    if (levels < 2) continue;
    if (levels > std::numeric_limits<Level>::max()) {
      throw Error(ErrorKind::input, "parameter " + name + " has more than 65534 values");
    }
    kept.push_back(column);
    level_of.push_back(describe(values[column], absent, parameters_.emplace_back()));
  }
  levels_.resize(size_ * kept.size());
  for (std::size_t p = 0; p < kept.size(); ++p) {
    const auto absent = static_cast<Level>(parameters_[p].levels - 1);
    for (std::size_t i = 0; i < size_; ++i) {
      const std::size_t place = places[kept[p]][i];
      levels_[i * kept.size() + p] = place == kAbsent ? absent : level_of[p][place];
    }
  }
}

float EncodedSpace::gap(std::size_t parameter, Level a, Level b) const {
  if (a == b) return 0.0F;
  const std::vector<float>& position = parameters_[parameter].position;
  if (position[a] < 0.0F || position[b] < 0.0F) return 2.0F;
  return 1.0F + std::abs(position[a] - position[b]);
}

float EncodedSpace::distance(const Level* a, const Level* b) const {
  float distance = 0.0F;
  for (std::size_t p = 0; p < parameters_.size(); ++p) distance += gap(p, a[p], b[p]);
  return distance;
}

std::vector<std::size_t> EncodedSpace::neighbours(std::size_t configuration) const {
  struct Nearest {
    float distance = std::numeric_limits<float>::infinity();
    std::size_t configuration = 0;
  };
  const std::size_t count = parameters_.size();
  const Level* from = levels(configuration);
  std::vector<std::vector<Nearest>> nearest;
  std::vector<std::vector<float>> gaps;  // [parameter][level], from here
  for (std::size_t p = 0; p < count; ++p) {
    nearest.emplace_back(parameters_[p].levels);
    nearest[p][from[p]].distance = -1.0F;  // never wanted
    std::vector<float>& own = gaps.emplace_back(parameters_[p].levels);
    for (std::size_t level = 0; level < own.size(); ++level) own[level] = gap(p, from[p], static_cast<Level>(level));
  }
  const auto farthest_wanted = [&] {
    float farthest = -1.0F;
    for (const auto& of_parameter : nearest) {
      for (const Nearest& each : of_parameter) farthest = std::max(farthest, each.distance);
    }
    return farthest;
  };
  float wanted = std::numeric_limits<float>::infinity();  // who is not nearer than that is nobody's nearest
  constexpr std::size_t kStretch = 256;
  for (std::size_t other = 0; other < size_; ++other) {
    if (other % kStretch == 0) wanted = farthest_wanted();
    const Level* to = levels(other);
    float apart = 0.0F;
    for (std::size_t p = 0; p < count; ++p) apart += gaps[p][to[p]];
    if (apart >= wanted) continue;
    for (std::size_t p = 0; p < count; ++p) {
      Nearest& best = nearest[p][to[p]];
      if (apart < best.distance) best = {.distance = apart, .configuration = other};
    }
  }
  std::vector<std::pair<float, std::size_t>> found;
  for (const auto& of_parameter : nearest) {
    for (const Nearest& each : of_parameter) {
      if (each.distance > 0.0F && std::isfinite(each.distance)) found.emplace_back(each.distance, each.configuration);
    }
  }
  std::sort(found.begin(), found.end());
  std::vector<std::size_t> result;
  for (const auto& [apart, other] : found) {
    if (std::find(result.begin(), result.end(), other) == result.end()) result.push_back(other);
  }
  return result;
}

std::size_t EncodedSpace::nearest(const std::vector<Level>& levels_wanted, const std::vector<bool>& allowed) const {
  float best = std::numeric_limits<float>::infinity();
  std::size_t found = size_;
  for (std::size_t other = 0; other < size_; ++other) {
    if (!allowed[other]) continue;
    const float apart = distance(levels_wanted.data(), levels(other));
    if (apart < best) {
      best = apart;
      found = other;
    }
  }
  return found;
}

}  // namespace heddle
