// The functions that compiled kernels call.
#pragma once

#include "heddle/runtime/device/emulator/kernel/interface.hpp"

namespace heddle::emulator {

/// They act on Grid::current().
[[nodiscard]] const Calls& calls();

}  // namespace heddle::emulator
