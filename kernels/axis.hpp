// One size of a family's problems: which values it has, and how far two of them are apart. Whatever reads, compares or
// draws sizes asks here.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace heddle {

/// What the distance of two values of a size depends on.
enum class Spacing {
  ratio,       ///< their ratio, |log2(a / b)|: most sizes
  difference,  ///< their difference, |a - b|: counts of steps, levels or cuts
  equal,       ///< nothing: what was learnt at one value says nothing about another
};

/// The value of a size; nothing if the problem does not have this size (Axis::optional).
using AxisValue = std::optional<std::int64_t>;

/// One size of a family's problems, as the family declares it.
struct Axis {
  std::string name;                  ///< "rules"
  double weight = 1.0;               ///< of the squared distance of two values in the one of two problems
  std::int64_t maximum = 1 << 24;    ///< larger values are refused wherever they come from; at most 2^53
  Spacing spacing = Spacing::ratio;  ///< how far apart two values are
  bool zero_means_none = false;      ///< whether 0 is a value ("no such layer"); the smallest is 1 otherwise
  bool optional = false;             ///< whether a problem may lack this size
  /// The only values, ascending, of a size that is one of a few things; empty: all up to `maximum`.
  std::vector<std::int64_t> values = {};
};

/// Throws Error(usage) for axes that no family may have: more than 32, a name that comes twice, is longer than 40
/// characters or has others than letters, digits, '_' and '-', a weight that is not positive, a maximum below 1 or
/// above 2^53, values that are not ascending or where they carry over to others. A problem's text is therefore shorter
/// than 2 KiB.
void check_axes(const std::vector<Axis>& axes);

/// The smallest value: the first one named, else 0 if that is a value, otherwise 1.
[[nodiscard]] inline std::int64_t smallest(const Axis& axis) noexcept {
  if (!axis.values.empty()) return axis.values.front();
  return axis.zero_means_none ? 0 : 1;
}
/// Whether a problem may have this value.
[[nodiscard]] inline bool allows(const Axis& axis, AxisValue value) noexcept {
  if (!value) return axis.optional;
  if (!axis.values.empty()) return std::ranges::find(axis.values, *value) != axis.values.end();
  return *value >= smallest(axis) && *value <= axis.maximum;
}
/// "from 1 to 1000", "32 or 64"
[[nodiscard]] std::string range_text(const Axis& axis);

/// The place of a value on the axis' own scale: log2 of it, or the value itself. On an axis by ratio, 0 lies one octave
/// below 1.
[[nodiscard]] double coordinate(const Axis& axis, std::int64_t value);
/// How far two values are apart, without the weight: the difference of their coordinates. Infinite if nothing carries
/// over from one to the other: different values of an axis that must be equal, and a size that only one of them has.
[[nodiscard]] double axis_distance(const Axis& axis, AxisValue a, AxisValue b);
/// The value at `part` (0 to 1) of the way from `a` to `b` on the axis' scale, rounded to an allowed one. A part drawn
/// evenly gives a value drawn evenly on that scale. One of the two on an axis that must be equal.
[[nodiscard]] std::int64_t between(const Axis& axis, std::int64_t a, std::int64_t b, double part);
/// The values of a range from `first` to `last`, both included: doubling on an axis by ratio, otherwise all. Nothing if
/// the range is empty or has more than 1000 values.
[[nodiscard]] std::vector<std::int64_t> steps(const Axis& axis, std::int64_t first, std::int64_t last);

}  // namespace heddle
