// Descriptions of kernels in the community's T1 format, as BAT, KTT and Kernel Tuner write them (schema 1.0.0, and
// BAT's older spelling).
#pragma once

#include <nlohmann/json.hpp>

#include "heddle/kernels/own/description_node.hpp"
#include "heddle/kernels/own/source_folder.hpp"

namespace heddle {

[[nodiscard]] bool is_t1(const nlohmann::json& document);

/// The description that says the same, with one size "problem", which is always 1: sizes are constants in a T1 file.
/// docs/formats.md says how its members are understood. Throws Error(input) with the place in the T1 file.
[[nodiscard]] nlohmann::json description_from_t1(const DescriptionNode& root, const SourceFolder& sources);

}  // namespace heddle
