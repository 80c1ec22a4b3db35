#include "heddle/kernels/axis.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <string_view>

#include "heddle/kernels/error.hpp"

namespace heddle {

namespace {

// On an axis by ratio: what is closer to 0 than to 1.
constexpr double kCoordinateOfNone = -1.0, kHalfWayToNone = -0.5;

constexpr std::size_t kMostAxes = 32, kLongestAxisName = 40;
constexpr std::int64_t kLargestSize = std::int64_t{1} << 53;  // float64 holds every integer up to here

bool good_name(std::string_view name) {
  const auto good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  return !name.empty() && name.size() <= kLongestAxisName && name.front() != '-' &&
         std::all_of(name.begin(), name.end(), good);
}

}  // namespace

void check_axes(const std::vector<Axis>& axes) {
  const auto fail = [](const std::string& what) { throw Error(ErrorKind::usage, "the axes of a family: " + what); };
  if (axes.size() > kMostAxes) fail(fmt::format("found {}, expected at most {}", axes.size(), kMostAxes));
  std::set<std::string_view> names;
  for (const Axis& axis : axes) {
    if (!good_name(axis.name)) {
      fail(fmt::format("found the name '{}', expected 1 to {} letters, digits, '_' or '-'", axis.name.substr(0, 60),
                       kLongestAxisName));
    }
    if (!names.insert(axis.name).second) fail(fmt::format("{} comes twice", axis.name));
    if (!(axis.weight > 0.0 && std::isfinite(axis.weight))) {
      fail(fmt::format("{} has the weight {}, expected a positive number", axis.name, axis.weight));
    }
    if (axis.maximum < 1 || axis.maximum > kLargestSize) {
      fail(fmt::format("{} has the maximum {}, expected 1 to 2^53", axis.name, axis.maximum));
    }
    if (axis.values.empty()) continue;
    const bool ascend = std::ranges::adjacent_find(axis.values, std::greater_equal<>()) == axis.values.end();
    if (!ascend || axis.values.front() < 0 || axis.values.back() != axis.maximum || axis.spacing != Spacing::equal) {
      fail(
          fmt::format("{} has a list of values, expected ascending ones up to its maximum, of which nothing carries "
                      "over to another one",
                      axis.name));
    }
  }
}

std::string range_text(const Axis& axis) {
  if (!axis.values.empty()) return fmt::format("{}", fmt::join(axis.values, " or "));
  return fmt::format("from {} to {}", smallest(axis), axis.maximum);
}

double coordinate(const Axis& axis, std::int64_t value) {
  if (axis.spacing != Spacing::ratio) return static_cast<double>(value);
  return value == 0 ? kCoordinateOfNone : std::log2(static_cast<double>(value));
}

double axis_distance(const Axis& axis, AxisValue a, AxisValue b) {
  if (a == b) return 0.0;
  if (!a || !b || axis.spacing == Spacing::equal) return std::numeric_limits<double>::infinity();
  if (axis.spacing == Spacing::ratio && *a != 0 && *b != 0) {
    // The quotient is rounded once, two logarithms would be rounded twice.
    return std::abs(std::log2(static_cast<double>(*a) / static_cast<double>(*b)));
  }
  return std::abs(coordinate(axis, *a) - coordinate(axis, *b));
}

std::int64_t between(const Axis& axis, std::int64_t a, std::int64_t b, double part) {
  if (axis.spacing == Spacing::equal) return part < 0.5 ? a : b;
  const double place = std::lerp(coordinate(axis, a), coordinate(axis, b), part);
  const auto [low, high] = std::minmax(a, b);
  if (axis.spacing == Spacing::difference) return std::clamp<std::int64_t>(std::llround(place), low, high);
  return place < kHalfWayToNone ? low : std::clamp<std::int64_t>(std::llround(std::exp2(place)), low, high);
}

std::vector<std::int64_t> steps(const Axis& axis, std::int64_t first, std::int64_t last) {
  constexpr std::int64_t kMostSteps = 1000;
  if (first > last) return {};
  const bool doubles = axis.spacing == Spacing::ratio;
  if (!doubles && last - first >= kMostSteps) return {};
  std::vector<std::int64_t> values;
  for (std::int64_t next = first; next < last; next = doubles ? std::max<std::int64_t>(1, 2 * next) : next + 1) {
    values.push_back(next);
  }
  values.push_back(last);
  std::erase_if(values, [&](std::int64_t value) { return !allows(axis, value); });
  return values;
}

}  // namespace heddle
