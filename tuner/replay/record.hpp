// The measurements of one problem, as a recorded search space.
#pragma once

#include "heddle/kernels/kernel_family.hpp"
#include "heddle/profiles/profile_store.hpp"
#include "heddle/tuner/replay/recorded_space.hpp"

namespace heddle {

/// Every configuration of the problem that was measured with the present source and such a cache and was not pruned, in
/// the order of the space, each with its most precise measurement. No configurations if there are none.
[[nodiscard]] RecordedSpace recorded(const ProfileStore& store, const KernelFamily& family, const ProfileKey& key,
                                     bool cold_cache = false);

}  // namespace heddle
