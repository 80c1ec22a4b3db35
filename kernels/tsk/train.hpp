// The families "tsk-constant" and "tsk-linear": iterations of batch least squares and gradient for consequents of order
// 0 and 1.
//
// Buffers of every plan, all row after row without padding: parameters "centres", "widths" (K x D floats),
// "consequents" (K x T x L floats); state "low_parts" (2 x K x D floats: what float32 leaves out of the centres and
// widths, where a kernel keeps float64; 0 to begin with), "progress" (one Progress), "best_centres", "best_widths",
// "best_consequents" (the best system so far), "errors" (double: of iteration i, at i modulo their number, the mean
// squared errors of the rows learnt and held back); inputs "control" (one Control), "rows" (N x D), "targets" (N x L).
// One run does the next Plan::samples / N iterations, or fewer if Control::end comes first or training halts. The
// system of an iteration is the one before its step; its consequents are those that fit it.
#pragma once

#include "heddle/kernels/kernel_family.hpp"
#include "heddle/kernels/tsk/system.hpp"
#include "heddle/kernels/tsk/workload.hpp"

namespace heddle::tsk {

[[nodiscard]] const KernelFamily& constant_family();
[[nodiscard]] const KernelFamily& linear_family();
[[nodiscard]] const KernelFamily& train_family(int order);

/// Iterations that a run of a plan does when it is asked for `samples` rows; fewer where they take a device of so few
/// units too long.
[[nodiscard]] std::int64_t iterations_of_run(const Problem& problem, const DeviceIdentity& device, int order,
                                             std::int64_t samples);

/// A plan of so many iterations.
[[nodiscard]] Plan plan_of(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device,
                           int order, std::int64_t iterations);
/// Contents of all its parameter, state and input buffers.
[[nodiscard]] HostImage contents_of(const Workload& work, const Plan& plan);

}  // namespace heddle::tsk
