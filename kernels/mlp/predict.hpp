// The family "mlp-predict": outputs of a fully connected network for many rows.
//
// Buffers of every plan: inputs "parameters" (the layout of Layers), "control" (one PredictControl), "rows" (N x
// inputs); output "outputs" (N x outputs). All are row after row without padding. One run predicts the first
// PredictControl::rows rows, at most Plan::samples.
#pragma once

#include "heddle/kernels/kernel_family.hpp"
#include "heddle/kernels/mlp/network.hpp"

namespace heddle::mlp {

[[nodiscard]] const KernelFamily& predict_family();

/// The control of the timing workload: hidden layers of kSigmoid, an output of kSigmoid.
[[nodiscard]] PredictControl timing_prediction(std::int64_t rows);

}  // namespace heddle::mlp
