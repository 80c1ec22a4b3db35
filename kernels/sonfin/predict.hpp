// The family "sonfin-predict": outputs of many rows at once.
//
// Buffers of every plan: inputs "centres", "widths", "consequents" (see predict_layout()), "rows" (Layout::stride),
// "control" (one PredictControl); output "outputs" (float, row after row of L, no padding). One run predicts the first
// PredictControl::rows rows, at most Plan::samples.
#pragma once

#include "heddle/kernels/kernel_family.hpp"
#include "heddle/kernels/sonfin/network.hpp"

namespace heddle::sonfin {

[[nodiscard]] const KernelFamily& predict_family();
[[nodiscard]] Layout predict_layout(const Configuration& configuration, const Problem& problem,
                                    const DeviceIdentity& device);

}  // namespace heddle::sonfin
