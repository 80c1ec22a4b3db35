// A place for what could not be written where the user wanted it.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace heddle {

/// Makes a folder of its own where temporary files go, and calls `write` with the file `name` in it. Returns that file.
/// Throws Error(input), and what `write` throws.
[[nodiscard]] std::filesystem::path kept_elsewhere(const std::string& name,
                                                   const std::function<void(const std::filesystem::path&)>& write);

}  // namespace heddle
