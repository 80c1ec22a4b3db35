// Files that are no profile database, or cannot be used: one line each, and nothing that was there is lost.
#include "heddle/profiles/database.hpp"

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Exception.h>
#include <doctest/doctest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <string>

#include "heddle/profiles/migrations.hpp"
#include "profiles/support.hpp"

namespace heddle {
namespace {

using namespace test;
namespace fs = std::filesystem;

std::string contents(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void write(const fs::path& file, const std::string& bytes) { std::ofstream(file, std::ios::binary) << bytes; }

/// A database without log files beside it.
void make_database(const fs::path& file, int measurements = 1) {
  ProfileStore store(file, kWrite);
  store.record(std::vector<Measurement>(static_cast<std::size_t>(measurements), measurement()));
}

/// Opening `file` either way fails with a line that has its name and `part`, and leaves the file as it was.
void refused(const fs::path& file, const std::string& part) {
  const std::string before = fs::is_regular_file(file) ? contents(file) : "";
  for (const auto access : {kRead, kWrite}) {
    const std::string line = complaint([&] { static_cast<void>(ProfileStore(file, access).measurements()); });
    CAPTURE(line);
    CHECK(contains(line, file.string()));
    CHECK(contains(line, part));
  }
  if (fs::is_regular_file(file)) CHECK(contents(file) == before);
}

TEST_CASE("a name that reads like a URI, or like a database in memory, is the name of a file") {
  const Folder folder;
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  for (const char* name : {"file:", "file:other.db?mode=memory", "file::memory:", " "}) {
    CAPTURE(name);
    make_database(name, 3);
    CHECK(fs::is_regular_file(name));
    CHECK(ProfileStore(name, kRead).measurements().size() == 3);
  }
  fs::current_path(before);
}

TEST_CASE("files that are something else") {
  const Folder folder;
  write(folder / "text", "a shopping list that is longer than the header of any database: " + std::string(200, 'x'));
  refused(folder / "text", "not a SQLite file");
  write(folder / "short", "bread");
  refused(folder / "short", "not a SQLite file");
  SQLite::Database(folder / "other", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE).exec("CREATE TABLE t (a)");
  refused(folder / "other", "another program");
  fs::create_directory(folder / "folder");
  refused(folder / "folder", "folder");
}

TEST_CASE("pipes, sockets and devices are refused, not waited for") {
  const Folder folder;
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  refused(folder / "pipe", "is a pipe, expected a file");
  refused("/dev/null", "is a device, expected a file");
  for (const char* suffix : {"-wal", "-shm", "-journal"}) {
    const fs::path file = folder / (std::string("p") + suffix).c_str();
    make_database(folder / "p");
    REQUIRE(::mkfifo(file.c_str(), 0600) == 0);
    refused(folder / "p", file.string() + ": is a pipe");
    fs::remove(file);
  }
}

TEST_CASE("a truncated file") {
  const Folder folder;
  make_database(folder / "whole", 200);
  const std::string whole = contents(folder / "whole");
  for (const std::size_t size : {whole.size() / 2, whole.size() - 1, std::size_t{5000}}) {
    write(folder / "cut", whole.substr(0, size));
    refused(folder / "cut", "truncated or damaged");
  }
}

TEST_CASE("a file of a newer heddle") {
  const Folder folder;
  make_database(folder / "p");
  SQLite::Database(folder / "p", SQLite::OPEN_READWRITE).exec("PRAGMA user_version = 1000");
  refused(folder / "p", "newer heddle: schema 1000");
}

TEST_CASE("a row that no heddle wrote is damage, not a crash") {
  const Folder folder;
  make_database(folder / "p");
  SQLite::Database(folder / "p", SQLite::OPEN_READWRITE).exec("UPDATE devices SET identity = 'loom'");
  CHECK(contains(complaint([&] { static_cast<void>(ProfileStore(folder / "p", kRead).measurements()); }), "damaged"));
}

TEST_CASE("an empty file is an empty database, with or without a log") {
  const Folder folder;
  write(folder / "p", "");
  CHECK(ProfileStore(folder / "p", kRead).measurements().empty());
  CHECK(fs::file_size(folder / "p") == 0);
  make_database(folder / "p");
  CHECK(ProfileStore(folder / "p", kRead).measurements().size() == 1);

  SQLite::Database(folder / "log", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE)
      .exec("PRAGMA journal_mode = WAL; CREATE TABLE t (a); DROP TABLE t");
  CHECK(ProfileStore(folder / "log", kRead).measurements().empty());
}

TEST_CASE("what may not be written can be read") {
  const Folder folder;
  const auto inside = folder / "inside";
  const auto file = inside / "a?b#c%d.sqlite";  // characters with a meaning in a URI
  make_database(file);
  fs::permissions(file, fs::perms(0444));
  fs::permissions(inside, fs::perms(0555));
  const std::string before = contents(file);
  CHECK(unprivileged([&] { return ProfileStore(file, kRead).measurements().size() == 1; }));
  CHECK(unprivileged([&] { return contains(complaint([&] { ProfileStore(file, kWrite); }), "read-only"); }));
  CHECK(unprivileged([&] {
    return contains(complaint([&] { ProfileStore(inside / "new.sqlite", kWrite); }), "folder is read-only");
  }));
  CHECK(unprivileged([&] {
    return contains(complaint([&] { ProfileStore(inside / "new/p.sqlite", kWrite); }), "cannot create its folder");
  }));
  fs::permissions(inside, fs::perms(0777));
  CHECK(unprivileged([&] { return contains(complaint([&] { ProfileStore(file, kWrite); }), "read-only"); }));
  fs::permissions(file, fs::perms(0000));
  CHECK(unprivileged([&] { return contains(complaint([&] { ProfileStore(file, kRead); }), "cannot be opened"); }));
  fs::permissions(file, fs::perms(0644));
  CHECK(contents(file) == before);
}

TEST_CASE("a link leads to the database and its log, also to a database that is yet to be made") {
  const Folder folder;
  const auto file = folder / "p", inside = folder / "inside", link = inside / "link";
  fs::create_directory(inside);
  fs::create_symlink("../p", link);
  fs::permissions(inside, fs::perms(0555));
  fs::permissions(folder.path(), fs::perms(0777));
  CHECK(unprivileged([&] {
    make_database(link, 2);
    return true;
  }));
  CHECK(fs::is_symlink(link));
  CHECK(fs::is_regular_file(file));
  CHECK(ProfileStore(file, kRead).measurements().size() == 2);

  // A process that is killed leaves a log beside the database. The file alone is not complete then.
  for (const char* const suffix : {"-wal", "-shm"}) fs::remove(file.string() + suffix);
  CHECK(succeeded(start([&]() -> bool {
    ProfileStore store(link, kWrite);
    store.record(measurement());
    ::_exit(0);
  })));
  CHECK(fs::file_size(file.string() + "-wal") > 0);
  fs::remove(file.string() + "-shm");
  for (const char* const suffix : {"", "-wal"}) fs::permissions(file.string() + suffix, fs::perms(0444));
  fs::permissions(folder.path(), fs::perms(0555));
  CHECK(unprivileged([&] {
    return contains(complaint([&] { static_cast<void>(ProfileStore(link, kRead).measurements()); }),
                    "cannot be opened");
  }));
  fs::permissions(folder.path(), fs::perms(0755));
}

TEST_CASE("a lock is waited for, and given up with a line that says so") {
  const Folder folder;
  const auto file = folder / "p";
  make_database(file);
  int locked[2], opened[2];
  REQUIRE(::pipe(locked) == 0);
  REQUIRE(::pipe(opened) == 0);
  char byte = 0;
  // Before anything is open here: SQLite's connections must not cross a fork.
  const pid_t child = start([&] {
    if (::read(locked[0], &byte, 1) != 1) return false;
    ProfileStore patient(file, kWrite, builtin_families(), std::chrono::minutes(2));
    if (::write(opened[1], "x", 1) != 1) return false;
    patient.record(measurement());
    return true;
  });
  {
    SQLite::Database holder(file, SQLite::OPEN_READWRITE);
    holder.exec("BEGIN IMMEDIATE");
    ProfileStore impatient(file, kWrite, builtin_families(), std::chrono::milliseconds(20));
    CHECK(contains(complaint([&] { impatient.record(measurement()); }),
                   "locked by another process, gave up after 0.02 s"));
    CHECK(impatient.measurements().size() == 1);  // readers do not wait in WAL mode
    CHECK(::write(locked[1], "x", 1) == 1);
    CHECK(::read(opened[0], &byte, 1) == 1);
    holder.exec("ROLLBACK");
    CHECK(succeeded(child));
    CHECK(impatient.measurements().size() == 2);
  }
  for (const int descriptor : {locked[0], locked[1], opened[0], opened[1]}) ::close(descriptor);
}

TEST_CASE("a file that cannot grow: the error names it and earlier records stay") {
  const Folder folder;
  const auto file = folder / "p";
  make_database(file);
  const bool clear = succeeded(start([&] {
    ProfileStore store(file, kWrite);
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{.rlim_cur = 100'000, .rlim_max = 100'000};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return false;
    std::string line;
    for (int i = 0; i < 10'000 && line.empty(); ++i) line = complaint([&] { store.record(measurement()); });
    return contains(line, file.string()) && contains(line, "cannot be read or written");
  }));
  CHECK(clear);
  CHECK(ProfileStore(file, kRead).measurements().size() > 1);
  ProfileStore(file, kWrite).record(measurement());
}

TEST_CASE("what SQLite's codes mean") {
  const auto line = [](int code) {
    return std::string(explained(SQLite::Exception("what it says", code), "p.sqlite", std::chrono::seconds(10)).what());
  };
  CHECK(contains(line(SQLITE_FULL), "disk is full"));
  CHECK(contains(line(SQLITE_BUSY), "after 10 s"));
  CHECK(contains(line(SQLITE_READONLY | (1 << 8)), "read-only"));
  CHECK(contains(line(SQLITE_ERROR), "what it says"));
  for (const int code : {SQLITE_FULL, SQLITE_BUSY, SQLITE_READONLY, SQLITE_IOERR, SQLITE_CORRUPT, SQLITE_NOTADB}) {
    CHECK(contains(line(code), "p.sqlite"));
  }
}

TEST_CASE("a database that the first schema's heddle wrote") {
  const Folder folder;
  const fs::path golden = fs::path(HEDDLE_GOLDEN) / "profiles-schema-1.sqlite";
  fs::copy_file(golden, folder / "p");
  for (const auto access : {kRead, kWrite}) {
    const ProfileStore store(folder / "p", access);
    const auto measurements = store.measurements();
    REQUIRE(measurements.size() == 2);
    CHECK(measurements[0].status == Status::wrong_result);
    CHECK(measurements[0].message == "rule 3 is off by 12 %");
    CHECK(measurements[1].times == std::vector<double>{2.125, 0.1, 1e-7});
    CHECK(measurements[1].key == key());
    CHECK(measurements[1].provenance == provenance());
    const auto kept = store.find(key());
    REQUIRE(kept);
    CHECK(kept->time == 2.5);
    CHECK(kept->ties == std::vector<std::string>{"scheme=graph kernels=2", "scheme=stepwise kernels=2"});
    CHECK(kept->imported);
    CHECK(kept->provenance == provenance());
  }
  SQLite::Database database(folder / "p", SQLite::OPEN_READONLY);
  CHECK(database.execAndGet("PRAGMA user_version").getInt() == present_schema());
  CHECK(database.execAndGet("PRAGMA application_id").getInt() == kApplicationId);
}

TEST_CASE("snapshots of profiles in a database that the second schema's heddle wrote") {
  const Folder folder;
  fs::copy_file(fs::path(HEDDLE_GOLDEN) / "profiles-schema-2.sqlite", folder / "p");
  ProfileStore store(folder / "p", kWrite);
  const TuningRun run = store.begin_run("a task");
  CHECK(run.id == 1);
  CHECK(run.resumed);
  const auto before = store.profiles_before(run);
  REQUIRE(before.size() == 1);
  CHECK(before.front().key == key());
  CHECK(before.front().time == 2.5);
  REQUIRE(store.displaced(key()));
  CHECK(store.displaced(key())->time == 4.0);
  CHECK(store.restore_displaced(key()));
  CHECK(store.find(key())->time == 4.0);
}

TEST_CASE("a database that the third schema's heddle wrote, with a family that is unknown here") {
  const Folder folder;
  fs::copy_file(fs::path(HEDDLE_GOLDEN) / "profiles-schema-3.sqlite", folder / "p");
  for (const auto access : {kRead, kWrite}) {
    const ProfileStore store(folder / "p", access);
    CHECK(store.measurements().size() == 2);
    CHECK(store.left_out().empty());
    const auto profiles = store.profiles();
    REQUIRE(profiles.size() == 2);
    CHECK(profiles[0].key.family == "carpet");
    CHECK(profiles[0].key.problem.text() == "knots=7 colours=0");
    CHECK(profiles[0].configuration == "loom=upright");
    CHECK(profiles[0].ties == std::vector<std::string>{"loom=flat"});
    CHECK(profiles[0].record.empty());
    CHECK(profiles[1].key == key());
    CHECK(profiles[1].time == 2.5);
    REQUIRE(store.displaced(key()));
    CHECK(store.displaced(key())->time == 4.0);
  }
}

TEST_CASE("a database that the fourth schema's heddle wrote: nothing says under which contract it was measured") {
  const Folder folder;
  fs::copy_file(fs::path(HEDDLE_GOLDEN) / "profiles-schema-4.sqlite", folder / "p");
  for (const auto access : {kRead, kWrite}) {
    ProfileStore store(folder / "p", access);
    const auto measurements = store.measurements();
    REQUIRE(measurements.size() == 2);
    const auto profiles = store.profiles();
    REQUIRE(profiles.size() == 3);
    CHECK(profiles[1].key.problem.text() == "knots=9 colours=0");
    CHECK(profiles[1].time == 1.75);
    CHECK(contains(profiles[1].record, "wool"));
    CHECK(profiles[2].key == key());
    CHECK(profiles[2].time == 2.5);
    REQUIRE(store.displaced(key()));
    for (const Measurement& each : measurements) CHECK(each.kernels == measurement().kernels);
    for (const Profile& each : profiles) CHECK(each.kernels == measurement().kernels);
    CHECK(store.displaced(key())->kernels == measurement().kernels);
    if (access == kRead) continue;
    // Still what a search with the same templates may use, whatever its contract.
    Measurement like = measurement();
    like.kernels.contract_digest = std::string(32, 'c');
    CHECK(store.known(key(), like, store.begin_run("another task")).size() == 2);
    store.record(like);
    CHECK(store.measurements().front().kernels == like.kernels);
  }
  SQLite::Database database(folder / "p", SQLite::OPEN_READONLY);
  CHECK(database.execAndGet("PRAGMA user_version").getInt() == present_schema());
}

TEST_CASE("a database that the fifth schema's heddle wrote") {
  const Folder folder;
  fs::copy_file(fs::path(HEDDLE_GOLDEN) / "profiles-schema-5.sqlite", folder / "p");
  for (const auto access : {kRead, kWrite}) {
    const ProfileStore store(folder / "p", access);
    CHECK(store.measurements().size() == 2);
    CHECK(store.profiles().size() == 4);
    const auto kept = store.find(key(33));
    REQUIRE(kept);
    CHECK(kept->time == 0.75);
    CHECK(kept->imported);
    CHECK(kept->kernels == KernelVersion{.source_hash = measurement().kernels.source_hash,
                                         .contract_digest = "fedcba9876543210fedcba9876543210"});
    REQUIRE(store.find(key()));
    CHECK(store.find(key())->kernels == measurement().kernels);
  }
}

}  // namespace
}  // namespace heddle
