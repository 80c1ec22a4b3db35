#include "heddle/runtime/train/rule_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace heddle {

Option minimum_width_option(std::string default_value) {
  return {.name = "minimum-width",
          .default_value = std::move(default_value),
          .meaning = "no width becomes smaller",
          .minimum = kSmallestWidth,
          .maximum = kLargestWidth};
}

InputLimit rule_limit(const OptionValues& options, const std::vector<RuleBase>& networks) {
  double largest = std::numeric_limits<double>::infinity();
  for (const RuleBase& rules : networks) {
    largest = std::min(largest, largest_input(rules, options.number("minimum-width")));
  }
  return {.largest = largest,
          .setting = fmt::format("--minimum-width {}", options.word("minimum-width")),
          .held = "distances in widths"};
}

}  // namespace heddle
