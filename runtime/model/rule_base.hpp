// The rules of a fuzzy network, whatever its kind, and what float32 can hold of them.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "heddle/kernels/sonfin/network.hpp"
#include "heddle/kernels/tsk/system.hpp"
#include "heddle/runtime/model/network_kind.hpp"

namespace heddle {

/// A view of R rules over D inputs with L outputs: a Gaussian for each input, and a consequent.
struct RuleBase {
  std::int64_t dim = 0, outputs = 0;
  int order = 0;                           ///< of the consequents: 0, constants; 1, linear in the inputs
  std::span<const float> centres, widths;  ///< R x D
  std::span<const float> consequents;      ///< R x T x L, T = 1 or 1 + D
  double widths_per_deviation = 1.0;       ///< how many times its standard deviation a Gaussian's width is

  [[nodiscard]] std::int64_t rules() const { return dim == 0 ? 0 : static_cast<std::int64_t>(centres.size()) / dim; }
  /// Numbers of one consequent.
  [[nodiscard]] std::int64_t numbers() const { return outputs * (order == 0 ? 1 : 1 + dim); }
};
/// Widths of exp(-((x - m) / width)^2).
[[nodiscard]] RuleBase rule_base(const sonfin::Network& network);
/// Widths of exp(-((x - c) / width)^2 / 2).
[[nodiscard]] RuleBase rule_base(const tsk::System& system);

/// "300 rules"
[[nodiscard]] NetworkSize size_of(std::int64_t rules);
/// "a network without rules, expected at least one"; empty if there are some.
[[nodiscard]] std::string without_rules(const RuleBase& rules);

/// What float32 can hold: with centres and widths of exp(-((x - m) / width)^2) beyond these, squares and products of
/// them are infinite or 0, and so are sums of larger consequents over rules.
inline constexpr double kLeastWidth = 1e-19, kLargestAntecedent = 1e19, kLargestConsequent = 1e30;
/// The largest size of inputs and centres, in scaled units, for which the log firing of a rule stays finite in float32:
/// D ((x - m) / sigma)^2 is at most 1e37 where no width of exp(-((x - m) / width)^2) is below `least_width`.
[[nodiscard]] double largest_input(double least_width, std::int64_t dim);
/// The same where no width is below those of the rules, or below `minimum_width`.
[[nodiscard]] double largest_input(const RuleBase& rules,
                                   double minimum_width = std::numeric_limits<double>::infinity());
/// Why rules cannot be used, "1e+20 at width 3, expected ..."; empty if their sizes agree with each other, all their
/// numbers are finite and float32 holds what is computed from them.
[[nodiscard]] std::string fault(const RuleBase& rules);
/// Throws Error(input) unless training can go on from rules whose best so far are `best`: D and L are the same.
void check_same_sizes(const RuleBase& last, const RuleBase& best, const std::string& source);

/// More rules, inputs or outputs are in no file.
inline constexpr std::int64_t kLargestExtent = std::int64_t{1} << 24;

}  // namespace heddle
