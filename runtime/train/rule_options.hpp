// What trainers of fuzzy rules have in common: the option --minimum-width, and how far inputs may be from the rules.
#pragma once

#include <string>
#include <vector>

#include "heddle/runtime/model/rule_base.hpp"
#include "heddle/runtime/train/options.hpp"
#include "heddle/runtime/train/training_session.hpp"

namespace heddle {

/// Widths, and steps of centres and widths, are numbers whose squares float32 can hold.
inline constexpr double kSmallestWidth = 1e-18, kLargestWidth = 1e18, kLargestStep = 1e18;

[[nodiscard]] Option minimum_width_option(std::string default_value);

/// Up to where float32 can hold the distance of an input to any of `networks`, and to rules that --minimum-width
/// allows.
[[nodiscard]] InputLimit rule_limit(const OptionValues& options, const std::vector<RuleBase>& networks);

}  // namespace heddle
