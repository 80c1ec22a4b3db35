#include "heddle/profiles/database.hpp"

#include <SQLiteCpp/Backup.h>
#include <SQLiteCpp/Statement.h>
#include <SQLiteCpp/Transaction.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "heddle/kernels/files.hpp"
#include "heddle/profiles/migrations.hpp"

namespace heddle {

namespace {

namespace fs = std::filesystem;

Error error(const fs::path& file, const std::string& what) {
  return {ErrorKind::profiles, fmt::format("profile database {}: {}", file.string(), what)};
}

int primary_code(const SQLite::Exception& exception) { return exception.getErrorCode() & 0xff; }

/// A file that SQLite keeps beside the database, which is where the last link leads to.
fs::path companion(const fs::path& file, const char* suffix) { return followed(file).string() + suffix; }

/// Whether the file is complete only together with what lies beside it.
bool has_log(const fs::path& file) {
  for (const char* suffix : {"-wal", "-journal"}) {
    std::error_code missing;
    const auto bytes = fs::file_size(companion(file, suffix), missing);
    if (!missing && bytes > 0) return true;
  }
  return false;
}

/// SQLite notices a missing page, but takes the missing end of the last one for zeros.
void refuse_part_of_page(SQLite::Database& database, const fs::path& file) {
  if (has_log(file)) return;
  std::error_code missing;
  const auto bytes = fs::file_size(file, missing);
  if (!missing && bytes % database.execAndGet("PRAGMA page_size").getUInt() != 0) {
    throw error(file, "truncated or damaged: it ends inside a page");
  }
}

/// The schema of an open file; 0 if it is empty. Refuses what is not ours and what a newer heddle wrote.
int schema_of(SQLite::Database& database, const fs::path& file) {
  // One statement sees one state of the file, even while another process creates it.
  SQLite::Statement query(database,
                          "SELECT (SELECT application_id FROM pragma_application_id), "
                          "(SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)");
  query.executeStep();
  refuse_part_of_page(database, file);
  const int application = query.getColumn(0).getInt();
  const int version = query.getColumn(1).getInt();
  const int objects = query.getColumn(2).getInt();
  if (application == 0 && version == 0 && objects == 0) return 0;
  if (application != kApplicationId || version < 1) {
    throw error(file, "belongs to another program, expected a file made by heddle");
  }
  if (version > present_schema()) {
    throw error(file,
                fmt::format("made by a newer heddle: schema {}, this one knows up to {}", version, present_schema()));
  }
  return version;
}

void migrate_in_transaction(SQLite::Database& database, const fs::path& file) {
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  migrate(database, schema_of(database, file));  // read again: another process may have been first
  transaction.commit();
}

SQLite::Database in_memory() {
  SQLite::Database database(kInMemory, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  return database;
}

/// The file may come from an untrusted source. Its schema runs no code, pages are checked before they are used, and the
/// length of a row is limited.
void harden(SQLite::Database& database) {
  constexpr int kLongestRow = 1 << 24;
  sqlite3_limit(database.getHandle(), SQLITE_LIMIT_LENGTH, kLongestRow);
  sqlite3_db_config(database.getHandle(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  database.exec("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON");
}

/// Throws Error(profiles) where the working directory, which a relative path begins at, is gone.
fs::path whole_path(const fs::path& file) {
  std::error_code failure;
  fs::path whole = fs::absolute(file, failure);
  if (failure) throw error(file, fmt::format("the folder that this process works in: {}", failure.message()));
  return whole;
}

/// A URI that tells SQLite that the file does not change.
std::string immutable_uri(const fs::path& file) {
  std::string uri = "file:";
  for (const char c : whole_path(file).string()) {
    uri += c == '%' || c == '?' || c == '#' ? fmt::format("%{:02x}", c) : std::string(1, c);
  }
  return uri + "?immutable=1";
}

/// The first access is what needs the log.
void touch(SQLite::Database& database) { database.execAndGet("SELECT count(*) FROM sqlite_schema"); }

/// A whole path, since SQLite would take a file whose name begins with "file:" for a URI.
std::string name_of(const fs::path& file) { return file == kInMemory ? file.string() : whole_path(file).string(); }

SQLite::Database open_file_for_reading(const fs::path& file, Patience patience) {
  const auto milliseconds = static_cast<int>(patience.count());
  try {
    SQLite::Database database(name_of(file), SQLite::OPEN_READONLY, milliseconds);
    touch(database);
    return database;
  } catch (const SQLite::Exception& exception) {
    // WAL needs to create files beside the database. Where that is not allowed, an empty log means that the file alone
    // is complete.
    const int code = primary_code(exception);
    if (code != SQLITE_CANTOPEN && code != SQLITE_READONLY) throw;
    if (has_log(file)) {  // of a process that was killed: only a process that may write can remove it
      if (::access(file.c_str(), W_OK) != 0) throw;
      SQLite::Database writer(name_of(file), SQLite::OPEN_READWRITE, milliseconds);
      touch(writer);
      SQLite::Database database(name_of(file), SQLite::OPEN_READONLY, milliseconds);
      touch(database);
      return database;
    }
    return {immutable_uri(file), SQLite::OPEN_READONLY | SQLite::OPEN_URI, milliseconds};
  }
}

std::string_view kind_of(fs::file_type type) {
  switch (type) {
    case fs::file_type::directory:
      return "a folder";
    case fs::file_type::fifo:
      return "a pipe";
    case fs::file_type::socket:
      return "a socket";
    default:
      return "a device";
  }
}

/// SQLite would wait for a pipe for ever, and take a device for an empty file.
void refuse_what_is_no_file(const fs::path& file) {
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
    const fs::path each = *suffix == '\0' ? file : companion(file, suffix);
    std::error_code ignored;
    const fs::file_type type = fs::status(each, ignored).type();
    if (type == fs::file_type::regular || type == fs::file_type::not_found || type == fs::file_type::none) continue;
    throw error(each, fmt::format("is {}, expected a file", kind_of(type)));
  }
}

void make_folder(const fs::path& file) {
  const fs::path place = followed(file);
  const fs::path folder = place.has_parent_path() ? place.parent_path() : fs::path(".");
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (failure) throw error(file, fmt::format("cannot create its folder: {}", failure.message()));
  if (::access(folder.c_str(), W_OK) != 0) throw error(file, "its folder is read-only");
}

}  // namespace

SQLite::Database open_for_writing(const fs::path& file, Patience patience) {
  if (file != kInMemory) {
    refuse_what_is_no_file(file);
    make_folder(file);
  }
  try {
    SQLite::Database database(name_of(file), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE,
                              static_cast<int>(patience.count()));
    if (sqlite3_db_readonly(database.getHandle(), "main") == 1) throw error(file, "is read-only");
    harden(database);
    database.exec("PRAGMA foreign_keys = ON");
    if (needs_migration(database, schema_of(database, file))) migrate_in_transaction(database, file);
    // Where the file system has no shared memory, or another process is at it just now, the old journal does as well.
    database.tryExec("PRAGMA journal_mode = WAL");
    // A commit survives the process at once; waiting for the disk each time would take longer than measuring.
    // A power failure takes the last transactions away, whole ones.
    database.exec("PRAGMA synchronous = NORMAL");
    return database;
  } catch (const SQLite::Exception& exception) {
    throw explained(exception, file, patience);
  }
}

SQLite::Database open_for_reading(const fs::path& file, Patience patience) {
  refuse_what_is_no_file(file);
  try {
    std::error_code failure;
    const bool there = fs::exists(file, failure);
    if (failure) throw error(file, failure.message());
    SQLite::Database database = there ? open_file_for_reading(file, patience) : in_memory();
    harden(database);
    if (needs_migration(database, schema_of(database, file))) {
      SQLite::Database copy = in_memory();
      SQLite::Backup(copy, database).executeStep();
      migrate_in_transaction(copy, file);
      database = std::move(copy);
    }
    database.exec("PRAGMA query_only = ON");
    return database;
  } catch (const SQLite::Exception& exception) {
    throw explained(exception, file, patience);
  }
}

bool cannot_be_read(const SQLite::Exception& exception) {
  const int code = primary_code(exception), exact = exception.getExtendedErrorCode();
  return code == SQLITE_CORRUPT || code == SQLITE_NOTADB || exact == SQLITE_IOERR_READ ||
         exact == SQLITE_IOERR_SHORT_READ;
}

void abandon(SQLite::Database database, const fs::path& file, Loss loss) {
  if (loss == Loss::moved) {
    // The log belongs to the file that is open; by its name it would be taken for that of the new one.
    database.tryExec("PRAGMA wal_checkpoint(TRUNCATE)");
    return;
  }
  if (loss == Loss::damaged || loss == Loss::unreadable || loss == Loss::incomplete) return;
  sqlite3_db_config(database.getHandle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  { const SQLite::Database closed = std::move(database); }
  if (loss != Loss::overwritten) return;
  for (const char* suffix : {"-wal", "-shm"}) {
    std::error_code ignored;
    fs::remove(companion(file, suffix), ignored);
  }
}

std::optional<fs::path> copy_beside(SQLite::Database& database, const fs::path& file) {
  std::error_code ignored;
  for (const fs::path& folder : {whole_path(file).parent_path(), fs::temp_directory_path(ignored)}) {
    constexpr int kMostTries = 100;
    for (int number = 1; number <= kMostTries; ++number) {
      const fs::path copy =
          folder / fmt::format("{}.rescued{}", file.filename().string(), number == 1 ? "" : fmt::format("-{}", number));
      if (fs::exists(copy, ignored)) continue;
      SQLite::Statement vacuum(database, "VACUUM INTO ?");
      vacuum.bind(1, copy.string());
      if (vacuum.tryExecuteStep() == SQLITE_DONE) return copy;
      fs::remove(copy, ignored);
      break;  // another name would not help
    }
  }
  return std::nullopt;
}

Error explained(const SQLite::Exception& exception, const fs::path& file, Patience patience) {
  switch (primary_code(exception)) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
      return error(file, fmt::format("locked by another process, gave up after {} s",
                                     std::chrono::duration<double>(patience).count()));
    case SQLITE_NOTADB:
      return error(file, "is not a SQLite file, expected a file made by heddle");
    case SQLITE_CORRUPT:
      return error(file, fmt::format("truncated or damaged: {}", exception.getErrorStr()));
    case SQLITE_READONLY:
      return error(file, "is read-only");
    case SQLITE_FULL:
      return error(file, "the disk is full; nothing of this was written");
    case SQLITE_IOERR:
      return error(file, fmt::format("cannot be read or written: {}", exception.what()));
    case SQLITE_TOOBIG:
      return error(file, "damaged: a row is too long");
    case SQLITE_CANTOPEN:
      return error(file, "cannot be opened, expected a file that may be read and written");
    default:
      return error(file, exception.what());
  }
}

}  // namespace heddle
