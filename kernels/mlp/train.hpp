// The family "mlp-train": steps of learning of a fully connected network, all rows at once or in mini-batches.
//
// Buffers of every plan: parameter "parameters" (the layout of Layers); states "state" (kStateArrays x parameters),
// "gradient" (parameters: that of the last step of the run, sum or mean as the control says, also where the step went
// back to the best weights), "progress" (one Progress), "errors" (double: of epoch e, at e modulo their number, the sum
// of the squared errors of its rows, each before its step); inputs "control" (one Control), "rows" (N x inputs),
// "targets" (N x outputs), "order" (int32, one permutation of the rows learnt for each place of "errors": that of epoch
// Control::first_epoch first; only read if Control::shuffled). All are row after row without padding.
//
// One run does the next steps of training, as many as steps_of_run() says, or fewer as goes_on() says. A plan of less
// than an epoch ends its runs at the end of an epoch, where one comes. Results are the same bits however many runs the
// steps are divided into.
#pragma once

#include "heddle/kernels/kernel_family.hpp"
#include "heddle/kernels/mlp/network.hpp"

namespace heddle::mlp {

inline constexpr std::string_view kTrainFamily = "mlp-train", kPredictFamily = "mlp-predict";

[[nodiscard]] const KernelFamily& train_family();

/// What one run of a plan does at most.
struct RunLength {
  std::int64_t steps = 1;
  std::int64_t epochs = 1;  ///< that `steps` steps from the start of an epoch touch: places of "errors" and "order"
};
/// Of a plan that is asked for `samples` rows: whole epochs if that is at least one, otherwise whole steps. Fewer where
/// they take a device of so few units too long.
[[nodiscard]] RunLength run_length(const Problem& problem, const DeviceIdentity& device, std::int64_t samples);

}  // namespace heddle::mlp
