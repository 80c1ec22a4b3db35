// Linear maps of columns, made from the training rows and kept in the model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace heddle {

/// The smallest and the largest number of a column, as a file declares them.
struct Range {
  float low = 0.0F, high = 1.0F;
};

enum class Scale {
  none,    ///< as read
  minmax,  ///< smallest of the training rows to 0, largest to 1
  zscore,  ///< mean of the training rows to 0, standard deviation (of N) to 1
  unit,    ///< all columns divided by one number, the largest size in the training rows; constant columns, too
};
[[nodiscard]] std::string_view text(Scale scale);
/// Throws Error(usage) with the words there are.
[[nodiscard]] Scale parse_scale(std::string_view text);

/// scaled = (value - offset) * factor, per column; with minmax and zscore a column that is constant in the training
/// rows becomes 0. Immutable once made: may be shared between threads.
struct Scaling {
  Scale kind = Scale::none;
  std::vector<double> offset, factor;  ///< one per column; factor 0: the column was constant

  [[nodiscard]] std::int64_t columns() const { return static_cast<std::int64_t>(offset.size()); }
  /// The largest size of N x columns() values once they are scaled; 0 of no values.
  [[nodiscard]] double largest_size(std::span<const float> values) const;
  /// Of N x columns() values the first whose scaled size is more than `largest`; nothing if there is none.
  [[nodiscard]] std::optional<std::size_t> first_beyond(std::span<const float> values, double largest) const;
  /// Throws Error(input) that begins with `source` and names row and column of that value. `numbers`: what the rows are
  /// called; empty: 1, 2, and so on.
  void check(std::span<const float> values, std::string_view source, double largest,
             std::span<const std::int64_t> numbers = {}) const;
  /// `values`: N x columns(). Throws what check() throws; without `largest` for what float32 cannot hold.
  [[nodiscard]] std::vector<float> apply(std::span<const float> values, std::string_view source = "values",
                                         double largest = std::numeric_limits<float>::max(),
                                         std::span<const std::int64_t> numbers = {}) const;
  /// The inverse; a constant column comes back as its training value, and what float32 cannot hold as its largest.
  [[nodiscard]] std::vector<float> invert(std::span<const float> scaled) const;
};

/// From N x columns training values; N >= 1.
[[nodiscard]] Scaling fit_scaling(Scale kind, std::span<const float> values, std::int64_t columns);

/// Scale::minmax from ranges that a file declares, low to 0 and high to 1; low < high.
[[nodiscard]] Scaling declared_scaling(std::span<const Range> ranges);

/// sqrt of the columns' summed variances (of N): the first rule's width before beta, docs/design.md, "The network",.
[[nodiscard]] double spread(std::span<const float> values, std::int64_t columns);

}  // namespace heddle
