// The sizes that select a profile.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// One size of a family's problems, as the family declares it.
struct Axis {
  std::string name;                ///< "rules"
  double weight = 1.0;             ///< of (log2 ratio)^2 in the squared distance between two problems
  std::int64_t maximum = 1 << 24;  ///< larger values are refused wherever they come from
};

/// Sizes by name, in the order of the family's axes. A value type; equal when names and values are equal.
class Problem {
 public:
  struct Size {
    std::string name;
    std::int64_t value = 0;
    auto operator<=>(const Size&) const = default;
  };

  Problem() = default;
  explicit Problem(std::vector<Size> sizes) : sizes_(std::move(sizes)) {}

  [[nodiscard]] const std::vector<Size>& sizes() const noexcept { return sizes_; }
  /// The size called `name`; throws std::out_of_range if there is none.
  [[nodiscard]] std::int64_t at(std::string_view name) const;
  /// The same problem with one size replaced; throws std::out_of_range if there is none of that name.
  [[nodiscard]] Problem with(std::string_view name, std::int64_t value) const;
  /// "rules=640 dim=16 outputs=10": the database key.
  [[nodiscard]] std::string text() const;
  /// Reads text(); checks names, order and 1 <= value <= maximum against `axes`. Throws Error(input) with what was
  /// found and expected.
  [[nodiscard]] static Problem parse(std::string_view text, const std::vector<Axis>& axes);

  auto operator<=>(const Problem&) const = default;

 private:
  std::vector<Size> sizes_;
};

/// Weighted sum over the axes of (log2 (a/b))^2; 0 for equal problems. Both must have the sizes of `axes`.
[[nodiscard]] double squared_distance(const Problem& a, const Problem& b, const std::vector<Axis>& axes);
/// The square root of squared_distance(): the number of octaves if one size of weight 1 differs.
[[nodiscard]] double distance(const Problem& a, const Problem& b, const std::vector<Axis>& axes);

}  // namespace heddle
