#include "heddle/runtime/model/rule_base.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "heddle/kernels/counted.hpp"
#include "heddle/runtime/model/checks.hpp"

namespace heddle {

namespace {

/// The smallest width; without rules the largest that there can be. What is not a number does not count. Of several
/// running minima, because compilers make one instruction of them.
double least_width(const RuleBase& rules) {
  if (rules.widths.empty()) return kLargestAntecedent;
  constexpr std::size_t kMinima = 16;
  std::array<float, kMinima> minima{};
  minima.fill(std::numeric_limits<float>::infinity());
  std::span<const float> left = rules.widths;
  for (; left.size() >= minima.size(); left = left.subspan(minima.size())) {
    for (std::size_t i = 0; i < minima.size(); ++i) minima[i] = std::min(minima[i], left[i]);
  }
  for (std::size_t i = 0; i < left.size(); ++i) minima[i] = std::min(minima[i], left[i]);
  return static_cast<double>(std::ranges::min(minima));
}

/// Widths of exp(-((x - m) / width)^2) for one of the rules' own.
double widths_per_own(const RuleBase& rules) { return std::numbers::sqrt2 / rules.widths_per_deviation; }

}  // namespace

RuleBase rule_base(const sonfin::Network& network) {
  return {.dim = network.dim,
          .outputs = network.outputs,
          .order = 0,
          .centres = network.centres,
          .widths = network.widths,
          .consequents = network.consequents,
          .widths_per_deviation = std::numbers::sqrt2};
}

RuleBase rule_base(const tsk::System& system) {
  return {.dim = system.dim,
          .outputs = system.outputs,
          .order = system.order,
          .centres = system.centres,
          .widths = system.widths,
          .consequents = system.consequents,
          .widths_per_deviation = 1.0};
}

NetworkSize size_of(std::int64_t rules) { return {.text = counted(rules, "rule"), .counts = {{"rules", rules}}}; }

std::string without_rules(const RuleBase& rules) {
  return rules.rules() == 0 ? "a network without rules, expected at least one" : "";
}

double largest_input(double least_width, std::int64_t dim) {
  constexpr double kLargestSum = 1e37;
  const double largest = 0.5 * least_width * std::sqrt(kLargestSum / static_cast<double>(dim));
  return std::min(largest, 0.1 * kLargestAntecedent);
}

double largest_input(const RuleBase& rules, double minimum_width) {
  return largest_input(widths_per_own(rules) * std::min(minimum_width, least_width(rules)), rules.dim);
}

std::string fault(const RuleBase& rules) {
  if (rules.dim < 1 || rules.outputs < 1) return "a network without inputs or outputs, expected at least one";
  const std::int64_t count = rules.rules();
  const double unit = 1.0 / widths_per_own(rules);
  for (const std::string& complaint :
       {wrong_count("centres", rules.centres.size(), count * rules.dim),
        wrong_count("widths", rules.widths.size(), count * rules.dim),
        wrong_count("consequents", rules.consequents.size(), count * rules.numbers()),
        out_of_range("width", rules.widths, unit * kLeastWidth, unit * kLargestAntecedent),
        out_of_range("consequent", rules.consequents, 0.0, kLargestConsequent)}) {
    if (!complaint.empty()) return complaint;
  }
  const double least = least_width(rules);
  if (least < 0.0) return fmt::format("a width of {}, expected widths above 0", least);
  return out_of_range("centre", rules.centres, 0.0, largest_input(rules));
}

void check_same_sizes(const RuleBase& last, const RuleBase& best, const std::string& source) {
  if (last.dim == best.dim && last.outputs == best.outputs) return;
  refuse_model(source, "a network to go on from of other sizes than the model's", "the same inputs and outputs");
}

}  // namespace heddle
