#include "heddle/profiles/file_watch.hpp"

#include <SQLiteCpp/Database.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>
#include <thread>

namespace heddle {

namespace {

// https://www.sqlite.org/fileformat2.html: what a file begins with.
constexpr int kHeaderBytes = 100;
constexpr std::string_view kMagic{"SQLite format 3\0", 16};
constexpr std::size_t kPageSize = 16, kChanges = 24, kPages = 28, kPagesOfChange = 92;

using Header = std::array<unsigned char, kHeaderBytes>;

std::uint32_t number(const Header& header, std::size_t at, std::size_t bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) value = value << 8U | header[at + i];
  return value;
}

/// As SQLite sees it: whether its path leads to another file, or nowhere.
bool was_moved(SQLite::Database& database) {
  int moved = 0;
  const int code = sqlite3_file_control(database.getHandle(), "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  return code == SQLITE_OK && moved != 0;
}

}  // namespace

std::string_view text(Loss loss) {
  switch (loss) {
    case Loss::moved:
      return "was deleted, moved or replaced";
    case Loss::truncated:
    case Loss::fewer_pages:
      return "was truncated";
    case Loss::overwritten:
      return "was overwritten";
    case Loss::damaged:
      return "was damaged";
    case Loss::unreadable:
      return "could not be read back";
    case Loss::incomplete:
      return "lost records";
  }
  return {};
}

std::optional<Loss> FileWatch::damage(SQLite::Database& database) {
  // Through SQLite's own descriptor: to close another one would end its locks.
  sqlite3_file* file = nullptr;
  if (sqlite3_file_control(database.getHandle(), "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK) return {};
  Header header{};
  sqlite3_int64 bytes = 0;
  if (file->pMethods->xRead(file, header.data(), kHeaderBytes, 0) != SQLITE_OK ||
      file->pMethods->xFileSize(file, &bytes) != SQLITE_OK) {
    return Loss::truncated;
  }
  if (!std::equal(kMagic.begin(), kMagic.end(), header.begin())) return Loss::overwritten;
  const std::uint32_t page = number(header, kPageSize, 2), page_bytes = page == 1 ? 65536 : page;
  const std::uint32_t changes = number(header, kChanges, 4);
  const bool pages_known = number(header, kPagesOfChange, 4) == changes;
  if (bytes % page_bytes != 0) return Loss::truncated;
  if (pages_known && bytes < sqlite3_int64{number(header, kPages, 4)} * page_bytes) return Loss::fewer_pages;
  if (changes < changes_) return Loss::overwritten;  // by an older one
  changes_ = changes;
  return {};
}

std::optional<Loss> FileWatch::loss(SQLite::Database& database, const std::function<bool()>& reads_back) {
  if (was_moved(database)) return Loss::moved;
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::seconds(1);
  std::optional<Loss> found = damage(database);
  if (found == Loss::fewer_pages && reads_back()) {
    database.tryExec("PRAGMA wal_checkpoint(PASSIVE)");
    return {};
  }
  while (found && Clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    found = damage(database);
  }
  return found;
}

}  // namespace heddle
