// The bytes of a file; those of a data file are unpacked if it is gzip.
#pragma once

#include <filesystem>
#include <string>

namespace heddle {

/// As it is. Throws Error(input) with the file's name: not there, a folder, a device, not readable, more than
/// 16 GiB.
[[nodiscard]] std::string read_file(const std::filesystem::path& file);
/// Throws Error(input) with the file's name: not there, a folder, not readable, empty, a gzip that is cut off or
/// damaged, more than 16 GiB unpacked.
[[nodiscard]] std::string read_data_file(const std::filesystem::path& file);

}  // namespace heddle
