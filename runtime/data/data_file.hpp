// The bytes of a data file, unpacked if it is gzip.
#pragma once

#include <filesystem>
#include <string>

namespace heddle {

/// Throws Error(input) with the file's name: not there, a folder, not readable, empty, a gzip that is cut off or
/// damaged, more than 16 GiB unpacked.
[[nodiscard]] std::string read_data_file(const std::filesystem::path& file);

}  // namespace heddle
