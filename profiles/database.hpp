// Opening the profile database, and what SQLite's errors mean to a user. For the files of this folder only.
#pragma once

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Exception.h>

#include <chrono>
#include <filesystem>
#include <optional>

#include "heddle/kernels/error.hpp"
#include "heddle/profiles/file_watch.hpp"

namespace heddle {

/// How long to wait for another process that has locked the file.
using Patience = std::chrono::milliseconds;

inline constexpr const char* kInMemory = ":memory:";

/// Opens, creates and migrates; kInMemory lives as long as the connection. Throws Error(profiles).
[[nodiscard]] SQLite::Database open_for_writing(const std::filesystem::path& file, Patience patience);
/// Changes nothing on disk; a missing file is an empty database. Throws Error(profiles).
[[nodiscard]] SQLite::Database open_for_reading(const std::filesystem::path& file, Patience patience);

/// The meaning of an exception of SQLite for `file`, in one line.
[[nodiscard]] Error explained(const SQLite::Exception& exception, const std::filesystem::path& file, Patience patience);

/// Whether an exception says that what is in the file makes no sense, or cannot be got at.
[[nodiscard]] bool cannot_be_read(const SQLite::Exception& exception);

/// Closes a database whose file is lost, so that its log harms neither the file that was moved nor the one that took
/// its place.
void abandon(SQLite::Database database, const std::filesystem::path& file, Loss loss);

/// Copies a database into a new file beside `file`, or where temporary files are if that cannot be, and returns the
/// path of the copy; nothing if there is no place for it.
[[nodiscard]] std::optional<std::filesystem::path> copy_beside(SQLite::Database& database,
                                                               const std::filesystem::path& file);

}  // namespace heddle
