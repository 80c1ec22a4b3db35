// Models on disk: CBOR with a version and a checksum, the same on every machine. Layout: docs/formats.md.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "heddle/runtime/model/model.hpp"

namespace heddle {

/// Writes the file whole and renames it into place. Throws Error(input) with the file's name.
void save_model(const Model& model, const std::filesystem::path& file);
/// Trusts nothing in the file. Throws Error(input): no file, not a model, damaged, from a newer heddle.
[[nodiscard]] Model load_model(const std::filesystem::path& file);

/// The bytes of a model file. `source` begins the error lines of decode_model().
[[nodiscard]] std::string encode_model(const Model& model);
[[nodiscard]] Model decode_model(std::string_view bytes, const std::string& source);

}  // namespace heddle
