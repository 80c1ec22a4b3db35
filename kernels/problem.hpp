// The sizes that select a profile.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/kernels/axis.hpp"

namespace heddle {

/// Sizes by name, in the order of the family's axes; an optional size may be missing. A value type; equal when names
/// and values are equal.
class Problem {
 public:
  struct Size {
    std::string name;
    std::int64_t value = 0;
    auto operator<=>(const Size&) const = default;
  };

  Problem() = default;
  explicit Problem(std::vector<Size> sizes) : sizes_(std::move(sizes)) {}
  /// The problem with a value for each axis. Needs as many values as axes.
  [[nodiscard]] static Problem from(const std::vector<Axis>& axes, const std::vector<AxisValue>& values);

  [[nodiscard]] const std::vector<Size>& sizes() const noexcept { return sizes_; }
  /// The size called `name`; throws std::out_of_range if there is none.
  [[nodiscard]] std::int64_t at(std::string_view name) const;
  /// The size called `name`; nothing if there is none.
  [[nodiscard]] AxisValue find(std::string_view name) const noexcept;
  /// The same problem with one size replaced; throws std::out_of_range if there is none of that name.
  [[nodiscard]] Problem with(std::string_view name, std::int64_t value) const;
  /// "rules=640 dim=16 outputs=10": the database key.
  [[nodiscard]] std::string text() const;
  /// Reads text(); checks names, order and values against `axes`. Throws Error(input) with what was found and expected.
  [[nodiscard]] static Problem parse(std::string_view text, const std::vector<Axis>& axes);

  auto operator<=>(const Problem&) const = default;

 private:
  std::vector<Size> sizes_;
};

/// Why `problem` cannot be one of a family with these axes, in one line: other names, another order, a value that is
/// not allowed. Nothing if it can.
[[nodiscard]] std::optional<std::string> misfit(const Problem& problem, const std::vector<Axis>& axes);
/// The values of the problem's sizes, one for each axis. `problem` must fit `axes`, here and below.
[[nodiscard]] std::vector<AxisValue> axis_values(const Problem& problem, const std::vector<Axis>& axes);

/// Weighted sum over the axes of axis_distance()^2; 0 for equal problems. Infinite if nothing carries over from one
/// problem to the other.
[[nodiscard]] double squared_distance(const Problem& a, const Problem& b, const std::vector<Axis>& axes);
/// The square root of squared_distance(): the number of octaves if one size by ratio, of weight 1, differs.
[[nodiscard]] double distance(const Problem& a, const Problem& b, const std::vector<Axis>& axes);
/// The first axis on which two problems are infinitely far apart; nullptr if there is none.
[[nodiscard]] const Axis* separating_axis(const Problem& a, const Problem& b, const std::vector<Axis>& axes);

}  // namespace heddle
