// Files that are there whole or not at all.
#pragma once

#include <filesystem>
#include <string_view>

namespace heddle {

/// Writes `bytes` beside `file`, waits until they are on the disk and renames them into place, so that nobody ever sees
/// a part of them and a failure leaves what was there before. Throws Error(input) that names the file.
void write_whole(const std::filesystem::path& file, std::string_view bytes);

}  // namespace heddle
