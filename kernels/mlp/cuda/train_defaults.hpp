// What is expected to be fast for mlp-train on a GPU before anything is measured there.
#pragma once

#include <vector>

#include "heddle/kernels/search_space.hpp"

namespace heddle::mlp {

/// The untuned mapping.
[[nodiscard]] Configuration train_default(const DeviceIdentity& device, const Problem& problem);

/// What is tried before a search, and where the untuned mapping cannot run: the likeliest first.
[[nodiscard]] std::vector<Configuration> likely_for_training(const DeviceIdentity& device, const Problem& problem);

}  // namespace heddle::mlp
