// Whether a database that is open is still the file at its place. For the files of this folder only.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace SQLite {
class Database;
}

namespace heddle {

/// The damage that the file of an open database can suffer.
enum class Loss {
  moved,        ///< deleted, renamed or replaced by another file: the open one is whole, but not at its place any more
  truncated,    ///< the file ends too early
  fewer_pages,  ///< the file has fewer pages than it says; they may be in the log still
  overwritten,  ///< something else was written into it
  damaged,      ///< SQLite cannot make sense of a page
  unreadable,   ///< it cannot be opened once more
  incomplete,   ///< something that was written to it is not there
};
/// "was truncated", to be said of the file.
[[nodiscard]] std::string_view text(Loss loss);

/// Notices when the file of an open database is lost. SQLite itself goes on with a file that was deleted or replaced,
/// and everything that it writes is lost when the process ends. It does not notice either when the file is truncated or
/// overwritten.
class FileWatch {
 public:
  /// The damage to the file since the last call; nothing if all is well. Between transactions only. Apparent
  /// damage is checked again for a second: another process may just be moving its log into the file. `reads_back`
  /// answers whether every page can be read through a further connection. It is asked where pages are missing: a
  /// process that was killed, or has a slow disk, leaves a log that is only partly in the file.
  [[nodiscard]] std::optional<Loss> loss(SQLite::Database& database, const std::function<bool()>& reads_back);

 private:
  [[nodiscard]] std::optional<Loss> damage(SQLite::Database& database);

  std::uint32_t changes_ = 0;  ///< the file's change counter when it was last looked at
};

}  // namespace heddle
