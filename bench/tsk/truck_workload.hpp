// The truck problem as batch least squares and gradient see it.
#pragma once

#include "heddle/kernels/tsk/workload.hpp"

namespace heddle::bench {

/// On a grid of points x points rows, inputs and target scaled as training does; 35 rules, order 0.
[[nodiscard]] tsk::Workload truck_workload(int points, int iterations);

}  // namespace heddle::bench
