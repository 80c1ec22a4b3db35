// With which kernels something was measured, and what chose among them.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "heddle/kernels/device_identity.hpp"
#include "heddle/kernels/kernel_family.hpp"
#include "heddle/profiles/fitted_model.hpp"

namespace heddle::bench {

/// {"cuda": {"sonfin-train": "<32 hex digits>"}}: the digests of the templates of `families` on `backend`, as every
/// file in bench/results/ that a table of the README is made from has them under "templates". Families that do not run
/// there are left out.
[[nodiscard]] nlohmann::ordered_json template_digests(const std::vector<const KernelFamily*>& families,
                                                      std::string_view backend);

/// What "tuned" and "untuned" mean besides the kernels, as the same files have it under "choices":
/// {"spaces": {"cuda": {"sonfin-train": "<32 hex digits>"}}, "weights": likewise}. Spaces: space_digest() on a device
/// that is the same for every caller, so that files from different cards can be compared with the code on a machine
/// without one. Weights: of the cost model that heddle brings along; a family that has none is left out.
[[nodiscard]] nlohmann::ordered_json choice_digests(const std::vector<const KernelFamily*>& families,
                                                    std::string_view backend);

/// 32 hex digits over what may be chosen and what is chosen without a measurement: contract_digest(), and the default
/// and the likely configurations of the default problems. The same on every machine.
[[nodiscard]] std::string space_digest(const KernelFamily& family, const DeviceIdentity& device);

/// 32 hex digits over the terms of a cost model and what one of each costs.
[[nodiscard]] std::string weights_digest(const FittedModel& model);

}  // namespace heddle::bench
