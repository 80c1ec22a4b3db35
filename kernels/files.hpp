// Files that are there whole or not at all.
#pragma once

#include <filesystem>
#include <string_view>

namespace heddle {

/// Writes a new file beside `file`, makes it durable, and renames it into place, so that nobody ever sees half of it
/// and a failure leaves what was there. A link is followed; into something that is no plain file (a pipe, a terminal)
/// the bytes are just written. Throws Error(input) with the file's name and the system's reason.
void write_file(const std::filesystem::path& file, std::string_view bytes);

/// Throws what write_file() would throw about the folder, before the work whose result is to be written.
void check_writable(const std::filesystem::path& file);

}  // namespace heddle
