// Kernels that compute something else than the reference, each in a way that a narrow verification does not see.
#pragma once

#include "heddle/runtime/device/device.hpp"

namespace heddle {

/// Plants every fault in copies of the templates of every scheme in which it can live, and has them verified as the
/// tuner does for a winner: each must be found, for its own reason, and pass where it does no harm. Reports through
/// doctest.
void find_wrong_kernels(Device& device);

}  // namespace heddle
