// Where a plan puts the parameters of a SONFIN, and its rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "heddle/kernels/plan.hpp"
#include "heddle/kernels/sonfin/network.hpp"

namespace heddle::sonfin {

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

/// What a rule has, each in a buffer of its own.
struct RuleParameter {
  const char* buffer;
  std::vector<float> Network::*values;
  std::int64_t (Layout::*floats)() const;  ///< of the buffer
  float absent;                            ///< what the buffer has where there is no rule
  bool antecedent;                         ///< D numbers of each rule; otherwise L
};
inline constexpr RuleParameter kRuleParameters[] = {
    {"centres", &Network::centres, &Layout::antecedents, 0.0F, true},
    {"widths", &Network::widths, &Layout::antecedents, 1.0F, true},
    {"consequents", &Network::consequents, &Layout::consequents, 0.0F, false}};

/// The contents of a parameter's buffer, padding included, from the values of a network, rule after rule.
/// Throws std::length_error if these are more than the layout has room for, or not of whole rules.
void pack(const RuleParameter& parameter, std::span<const float> values, const Layout& layout,
          std::vector<float>& buffer);
/// The inverse, for the first `rules` rules. Throws std::length_error if the layout has no room for them, or the buffer
/// is smaller than it.
void unpack(const RuleParameter& parameter, std::span<const float> buffer, const Layout& layout, std::int64_t rules,
            std::vector<float>& values);

/// Buffers "centres", "widths" and "consequents" of a plan written into `image`. Throws like that of one parameter.
void pack(const Network& network, const Layout& layout, HostImage& image);
[[nodiscard]] Network unpack(const HostImage& image, const Layout& layout, std::int64_t rules);
/// `count` rows of `width` floats, each padded with zeros to `stride`: the buffers "rows" and "targets".
[[nodiscard]] std::vector<std::byte> pack_rows(const float* rows, std::int64_t count, std::int64_t width,
                                               std::int64_t stride);

}  // namespace heddle::sonfin
