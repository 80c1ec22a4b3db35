// Files that a description names, which may be anything: opening a pipe would wait for a writer for ever.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

namespace heddle {

/// Opens a file for reading. `named`: as messages call it. Throws Error(input) if it cannot be read, or is a folder, a
/// pipe or a device.
[[nodiscard]] std::ifstream open_regular_file(const std::filesystem::path& path, const std::string& named);

}  // namespace heddle
