// The parts that several commands' JSON documents share. docs/formats.md describes the documents.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "heddle/kernels/device_identity.hpp"
#include "heddle/kernels/family_registry.hpp"
#include "heddle/kernels/problem.hpp"
#include "heddle/profiles/fitted_model.hpp"
#include "heddle/profiles/measurement.hpp"

namespace heddle::cli {

using Json = nlohmann::ordered_json;

/// What a family's work is counted in; "unit" for a family that this program does not know.
[[nodiscard]] std::string_view unit_of(const FamilyRegistry& families, std::string_view family);
[[nodiscard]] Json to_json(const DeviceIdentity& device);
[[nodiscard]] Json to_json(const Problem& problem);
[[nodiscard]] Json to_json(const Profile& profile);
/// Without the weights, which an export has.
[[nodiscard]] Json to_json(const FittedModel& model);
[[nodiscard]] Json number_or_null(const std::optional<double>& number);

/// Prints the one document of a command, which names its `command` first.
void print_document(std::string_view command, const Json& content);

}  // namespace heddle::cli
