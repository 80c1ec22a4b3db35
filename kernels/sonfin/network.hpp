// A self-constructing neural fuzzy network, its options, and where a plan puts its parameters.
#pragma once

#include <cstdint>
#include <vector>

#include "heddle/kernels/plan.hpp"
#include "heddle/kernels/sonfin/control.cuh"

namespace heddle::sonfin {

/// Parameters of R rules over D inputs with L outputs, row after row.
struct Network {
  std::int64_t dim = 0;            ///< D
  std::int64_t outputs = 0;        ///< L
  std::vector<float> centres;      ///< m, R x D
  std::vector<float> widths;       ///< sigma, R x D
  std::vector<float> consequents;  ///< w, R x L

  [[nodiscard]] std::int64_t rules() const { return dim == 0 ? 0 : static_cast<std::int64_t>(centres.size()) / dim; }
};

enum class Step { scaled, plain };
enum class Width { distance, squared };

/// Options of learning; the defaults are those of docs/design.md, "The network".
struct Hyperparameters {
  double consequent_rate = 0.3;
  double antecedent_rate = 0.15;
  double threshold = 0.5;  ///< mu_th
  double overlap = 0.6;    ///< beta
  double minimum_width = 0.001;
  double first_width = 0.0;  ///< width of the first rule before beta: sqrt of the summed input variances
  Step step = Step::scaled;
  Width width = Width::distance;
  std::int64_t max_rules = 500;
};

/// `end`: rows of `order` that a run may learn. A threshold of 0 never adds a rule beyond the first.
[[nodiscard]] Control control(const Hyperparameters& options, std::int64_t end);

/// Where a plan keeps the parameters of up to `capacity` rules. Rules lie in tiles: inside one, the rule index moves
/// fastest. A tile of 1 is row after row; a tile of `capacity` is column after column.
struct Layout {
  std::int64_t capacity = 0;  ///< rules there is room for, a multiple of both tiles
  std::int64_t dim = 0;
  std::int64_t outputs = 0;
  std::int64_t stride = 0;         ///< inputs of a row with padding, also of `rows`; padding: x = 0, m = 0, sigma = 1
  std::int64_t target_stride = 0;  ///< outputs of a row of `targets` with padding
  std::int64_t antecedent_tile = 1;
  std::int64_t consequent_tile = 1;
  /// Groups of `dealt` rules are dealt to `banks` in turn, and a bank lies in one piece: 0, 2, 4, ..., 1, 3, 5, ...
  /// `capacity` is then a multiple of both, and `dealt` of the tiles.
  std::int64_t banks = 1;
  std::int64_t dealt = 1;

  /// Which rule of the buffers `rule` is.
  [[nodiscard]] std::int64_t place(std::int64_t rule) const {
    if (banks == 1) return rule;
    const std::int64_t group = rule / dealt;
    return (group % banks * (capacity / dealt / banks) + group / banks) * dealt + rule % dealt;
  }
  [[nodiscard]] std::int64_t antecedent(std::int64_t rule, std::int64_t input) const {
    rule = place(rule);
    return (rule / antecedent_tile * stride + input) * antecedent_tile + rule % antecedent_tile;
  }
  [[nodiscard]] std::int64_t consequent(std::int64_t rule, std::int64_t output) const {
    rule = place(rule);
    return (rule / consequent_tile * outputs + output) * consequent_tile + rule % consequent_tile;
  }
  /// Whether rule k has the antecedents k * stride and after, whatever the capacity.
  [[nodiscard]] bool rule_after_rule() const { return antecedent_tile == 1 && banks == 1; }
  [[nodiscard]] std::int64_t antecedents() const { return capacity * stride; }  ///< floats of centres, of widths
  [[nodiscard]] std::int64_t consequents() const { return capacity * outputs; }
  bool operator==(const Layout&) const = default;
};

/// Buffers "centres", "widths" and "consequents" of a plan, padding included, written into `image`.
/// Throws std::length_error if the network has more rules than the layout has room for.
void pack(const Network& network, const Layout& layout, HostImage& image);
/// The inverse, for the first `rules` rules.
[[nodiscard]] Network unpack(const HostImage& image, const Layout& layout, std::int64_t rules);
/// `count` rows of `width` floats, each padded with zeros to `stride`: the buffers "rows" and "targets".
[[nodiscard]] std::vector<std::byte> pack_rows(const float* rows, std::int64_t count, std::int64_t width,
                                               std::int64_t stride);

}  // namespace heddle::sonfin
