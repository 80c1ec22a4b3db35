// The members that exchanged records have in common, read from JSON with nothing believed unseen. For the files of this
// folder only. All of them throw Error(input) with what was found and what was expected.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/kernels/device_identity.hpp"
#include "heddle/kernels/kernel_version.hpp"
#include "heddle/profiles/provenance.hpp"

namespace heddle {

/// Compact, in one order; bytes that are no UTF-8 (a driver may say anything) become U+FFFD.
[[nodiscard]] std::string compact_text(const nlohmann::json& value);
[[nodiscard]] bool is_control_character(char c);

/// The digest of the object's compact text without the member "checksum".
[[nodiscard]] std::string record_checksum(nlohmann::json record);
/// The record has the checksum of what it holds.
void check_checksum(const nlohmann::json& record);

[[nodiscard]] const nlohmann::json& member(const nlohmann::json& object, const char* name);
/// One line of at most 4096 bytes.
[[nodiscard]] std::string text_of(const nlohmann::json& value, const char* name);
[[nodiscard]] std::string text_at(const nlohmann::json& object, const char* name);
[[nodiscard]] std::int64_t integer_at(const nlohmann::json& object, const char* name);
[[nodiscard]] double number_at(const nlohmann::json& object, const char* name);
/// At most 4096 texts.
[[nodiscard]] std::vector<std::string> texts_at(const nlohmann::json& object, const char* name);

/// A device that there can be.
[[nodiscard]] DeviceIdentity device_at(const nlohmann::json& record);
/// A name of at most 256 bytes; whether the program knows it is another question.
[[nodiscard]] std::string family_at(const nlohmann::json& record);
/// `supported`: by the family.
void check_backend(const std::string& backend, bool supported, const std::string& family);
/// The second digest may be missing: records of earlier versions have the first one alone.
[[nodiscard]] KernelVersion version_at(const nlohmann::json& record);
[[nodiscard]] nlohmann::json to_json(const Provenance& provenance);
[[nodiscard]] Provenance provenance_at(const nlohmann::json& record);

}  // namespace heddle
