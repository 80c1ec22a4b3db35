// The options of Takagi-Sugeno-Kang training.
#pragma once

#include <vector>

#include "heddle/kernels/tsk/control.cuh"
#include "heddle/runtime/train/options.hpp"

namespace heddle {

[[nodiscard]] const std::vector<Option>& tsk_options();

/// All but the numbers of rows and the end.
[[nodiscard]] tsk::Control tsk_control(const OptionValues& options);

}  // namespace heddle
