// The family "sonfin-predict": outputs of many rows at once.
//
// Buffers of every plan: inputs "centres", "widths", "consequents" (see predict_layout()), "rows" (Layout::stride),
// "control" (one PredictControl); output "outputs" (float, row after row of L, no padding). One run predicts the first
// PredictControl::rows rows, at most Plan::samples.
#pragma once

#include <vector>

#include "heddle/kernels/kernel_family.hpp"
#include "heddle/kernels/sonfin/layout.hpp"

namespace heddle::sonfin {

[[nodiscard]] const KernelFamily& predict_family();
[[nodiscard]] Layout predict_layout(const Configuration& configuration, const Problem& problem,
                                    const DeviceIdentity& device);

/// Rows that the threads of a configuration take at a time, before they come to the next.
[[nodiscard]] std::int64_t predict_tile(const Configuration& configuration, const DeviceIdentity& device);
/// Contents of all input buffers of such a plan, of which the first `count` rows are to be predicted.
[[nodiscard]] HostImage predict_contents(const Network& network, const std::vector<float>& rows, std::int64_t count,
                                         const Layout& layout);

}  // namespace heddle::sonfin
