// The family "sonfin-train": online steps of a SONFIN, sample after sample.
//
// Buffers of every plan: parameters "centres", "widths", "consequents" (see layout()); state "progress" (one Progress);
// inputs "control" (one Control), "rows" (float, row after row with Layout::stride), "targets" (float, with
// Layout::target_stride), "order" (int32: which row comes at which position). One run learns the next
// Plan::samples positions of `order`, or fewer if Control::end comes first or Progress::halted is set: the rule wanted
// at that position has no room, and nothing after it is learnt until another plan takes over. Memory bound to "rows",
// "targets" and "order" may be larger than the plan says.
#pragma once

#include "heddle/kernels/kernel_family.hpp"
#include "heddle/kernels/sonfin/layout.hpp"
#include "heddle/kernels/sonfin/problems.hpp"
#include "heddle/kernels/sonfin/workload.hpp"

namespace heddle::sonfin {

/// The rules of a problem are the capacity of the plan.
[[nodiscard]] const KernelFamily& train_family();

/// Layout of the plans that train_family() makes.
[[nodiscard]] Layout train_layout(const Configuration& configuration, const Problem& problem,
                                  const DeviceIdentity& device);

/// Of a run that begins with so many rules.
[[nodiscard]] Progress beginning(std::int64_t rules);
/// Contents of all parameter, state and input buffers of such a plan; the rows are those of `work`.
[[nodiscard]] HostImage train_contents(const Workload& work, const Network& network, const Layout& layout,
                                       const Control& control, const Progress& progress);

}  // namespace heddle::sonfin
