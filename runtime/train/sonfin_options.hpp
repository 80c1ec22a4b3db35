// The options of SONFIN training, and what they say.
#pragma once

#include <vector>

#include "heddle/kernels/sonfin/network.hpp"
#include "heddle/runtime/train/options.hpp"

namespace heddle {

[[nodiscard]] const std::vector<Option>& sonfin_options();

/// `spread`: of the scaled training rows, see spread(); what the first rule's width comes from unless it is set.
[[nodiscard]] sonfin::Hyperparameters hyperparameters(const OptionValues& options, double spread);

}  // namespace heddle
