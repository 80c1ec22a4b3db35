// Models on disk: CBOR with a version and a checksum, the same on every machine. Layout: docs/formats.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "heddle/kernels/files.hpp"
#include "heddle/runtime/model/model.hpp"

namespace heddle {

/// Writes the file whole and renames it into place. Throws Error(input) with the file's name; so it does, and writes
/// nothing, for a model that load_model() would refuse.
void save_model(const Model& model, const std::filesystem::path& file);
/// The same, to a place that was taken before.
void save_model(const Model& model, ReservedFile& place);
/// Trusts nothing in the file. Throws Error(input): no file, not a model, damaged, from a newer heddle.
[[nodiscard]] Model load_model(const std::filesystem::path& file);

/// The most bytes that the file of a model like this one takes once the numbers of its network take up to `network`
/// bytes and it has up to `epochs` epochs of history.
[[nodiscard]] std::int64_t largest_encoding(const Model& model, std::int64_t network, std::int64_t epochs);

/// The bytes of a model file. `source` begins the error lines of decode_model().
[[nodiscard]] std::string encode_model(const Model& model);
[[nodiscard]] Model decode_model(std::string_view bytes, const std::string& source);

}  // namespace heddle
