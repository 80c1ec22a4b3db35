// Opening the profile database, and what SQLite's errors mean to a user. For the files of this folder only.
#pragma once

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Exception.h>

#include <chrono>
#include <filesystem>

#include "heddle/kernels/error.hpp"

namespace heddle {

/// How long to wait for another process that has locked the file.
using Patience = std::chrono::milliseconds;

/// Opens, creates and migrates; ":memory:" lives as long as the connection. Throws Error(profiles).
[[nodiscard]] SQLite::Database open_for_writing(const std::filesystem::path& file, Patience patience);
/// Changes nothing on disk; a missing file is an empty database. Throws Error(profiles).
[[nodiscard]] SQLite::Database open_for_reading(const std::filesystem::path& file, Patience patience);

/// What an exception of SQLite means for `file`, in one line.
[[nodiscard]] Error explained(const SQLite::Exception& exception, const std::filesystem::path& file, Patience patience);

}  // namespace heddle
