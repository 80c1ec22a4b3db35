// A database whose file is taken away while it is written: it is noticed, and what was written is found elsewhere.
#include "heddle/profiles/file_watch.hpp"

#include <SQLiteCpp/Database.h>
#include <doctest/doctest.h>

#include <fstream>
#include <functional>
#include <string>

#include "profiles/support.hpp"

namespace heddle {
namespace {

using namespace test;
namespace fs = std::filesystem;

/// The path at the end of a line that says where something was rescued to.
fs::path rescued(const std::string& line) {
  const std::string before = "what it had written is in ";
  const std::size_t at = line.find(before);
  return at == std::string::npos ? "" : line.substr(at + before.size());
}

/// What is written before and after `mishap` befalls the file is in the file that the error names.
void noticed(const std::function<void(const fs::path&)>& mishap, const std::string& word) {
  const Folder folder;
  const fs::path file = folder / "p.sqlite";
  ProfileStore(file, kWrite).record(std::vector<Measurement>(100, measurement()));  // of an earlier run
  ProfileStore store(file, kWrite);
  store.record({measurement(), measurement(key(33))});
  store.keep(profile(key(), 9.0));
  store.keep(profile());
  CHECK_THROWS(store.atomically([&] {
    store.record(measurement());
    throw std::runtime_error("the weft broke");
  }));
  mishap(file);
  const std::string line = complaint([&] {
    store.atomically([&] {
      store.record(measurement(key(34)));
      store.keep(profile(key(35)));
    });
  });
  CAPTURE(line);
  CHECK(contains(line, file.string() + ": was " + word));
  const fs::path place = rescued(line);
  REQUIRE(fs::exists(place));
  const ProfileStore found(place, ProfileStore::Access::read);
  CHECK(found.measurements().size() == 3);
  REQUIRE(found.profiles().size() == 2);
  CHECK(found.find(key())->time == profile().time);
  CHECK(found.find(key(35)));
}

TEST_CASE("a file that is deleted, moved or replaced while it is written") {
  noticed([](const fs::path& file) { fs::remove(file); }, "deleted, moved or replaced");
  noticed([](const fs::path& file) { fs::rename(file, file.string() + ".old"); }, "deleted, moved or replaced");
  noticed(
      [](const fs::path& file) {
        const fs::path other = file.string() + ".new";
        ProfileStore(other, kWrite).record(measurement());
        fs::rename(other, file);
      },
      "deleted, moved or replaced");
  for (const char* suffix : {"-wal", "-shm"}) {
    noticed(
        [&](const fs::path& file) {
          fs::remove(file);
          fs::remove(file.string() + suffix);
        },
        "deleted, moved or replaced");
  }
}

TEST_CASE("a file that is truncated or overwritten while it is written") {
  noticed([](const fs::path& file) { fs::resize_file(file, 0); }, "truncated");
  noticed([](const fs::path& file) { fs::resize_file(file, 4096); }, "truncated");
  noticed([](const fs::path& file) { fs::resize_file(file, fs::file_size(file) - 1); }, "truncated");
  noticed([](const fs::path& file) { write(file, std::string(100'000, 'x')); }, "overwritten");
  noticed(
      [](const fs::path& file) {  // by one that nothing was written to yet
        const fs::path other = file.string() + ".new";
        { const ProfileStore empty(other, kWrite); }
        std::ifstream stream(other, std::ios::binary);
        write(file, {std::istreambuf_iterator<char>(stream), {}});
      },
      "overwritten");
}

TEST_CASE("a log that is only partly in the file is no damage") {
  // What a process leaves that is killed while it moves its log into the file: the first page says how many pages there
  // are, and the others are in the log alone.
  const Folder folder;
  const fs::path file = folder / "p.sqlite", left = folder / "left.sqlite";
  { const ProfileStore created(file, kWrite); }
  const auto bytes_before = fs::file_size(file);
  {
    SQLite::Database holds_the_log(file, SQLite::OPEN_READWRITE);
    holds_the_log.execAndGet("SELECT count(*) FROM runs");
    holds_the_log.exec("PRAGMA wal_autocheckpoint = 0");
    ProfileStore(file, kWrite).record(std::vector<Measurement>(60, measurement()));
    REQUIRE(fs::file_size(file) == bytes_before);
    fs::copy_file(file.string() + "-wal", left.string() + "-wal");
    holds_the_log.exec("PRAGMA wal_checkpoint(FULL)");
    fs::copy_file(file, left);
  }
  REQUIRE(fs::file_size(left) > bytes_before);
  fs::resize_file(left, bytes_before);

  ProfileStore store(left, kWrite);
  store.record(measurement(key(33)));
  CHECK(store.measurements().size() == 61);
  CHECK(fs::file_size(left) > bytes_before);
  CHECK(ProfileStore(left, ProfileStore::Access::read).measurements().size() == 61);
}

TEST_CASE("a file whose folder is gone: what was written is where temporary files are") {
  const Folder folder;
  const fs::path inside = folder / "inside";
  ProfileStore store(inside / "heddle-test-of-a-lost-folder.sqlite", kWrite);
  store.record(measurement());
  fs::remove_all(inside);
  const fs::path place = rescued(complaint([&] { store.record(measurement()); }));
  REQUIRE(place.parent_path() == fs::temp_directory_path());
  CHECK(ProfileStore(place, ProfileStore::Access::read).measurements().size() == 2);
  fs::remove(place);
}

TEST_CASE("an earlier rescue is not overwritten, and what took the place of a file is left alone") {
  const Folder folder;
  const fs::path file = folder / "p.sqlite";
  std::vector<fs::path> places;
  for (int times = 0; times < 2; ++times) {
    ProfileStore store(file, kWrite);
    store.record(measurement());
    fs::remove(file);
    ProfileStore(file, kWrite).record({measurement(key(1)), measurement(key(2))});
    places.push_back(rescued(complaint([&] { store.record(measurement()); })));
    REQUIRE(fs::exists(places.back()));
    CHECK(ProfileStore(file, ProfileStore::Access::read).measurements().size() == 2);
    fs::remove(file);
  }
  CHECK(places[0] != places[1]);
}

TEST_CASE("a run ends with a look at what is in the file") {
  const Folder folder;
  const fs::path file = folder / "p.sqlite";
  { const ProfileStore created(file, kWrite); }
  ProfileStore store(file, kWrite);
  const TuningRun run = store.begin_run("weave");
  Measurement of_run = measurement();
  of_run.run = run.id;
  store.record(of_run);
  // Behind the back of SQLite, which has all pages in its cache.
  SQLite::Database(file, SQLite::OPEN_READWRITE).exec("PRAGMA wal_checkpoint(TRUNCATE)");
  {
    std::fstream stream(file, std::ios::binary | std::ios::in | std::ios::out);
    for (std::uintmax_t at = 4096; at < fs::file_size(file); at += 4096) {
      stream.seekp(static_cast<std::streamoff>(at));
      stream << std::string(64, 'x');
    }
  }
  const std::string line = complaint([&] { store.end_run(run, true); });
  CAPTURE(line);
  CHECK(contains(line, "was damaged"));
  CHECK(ProfileStore(rescued(line), ProfileStore::Access::read).measurements().size() == 1);
}

TEST_CASE("a run whose measurements somebody deleted meanwhile says so") {
  const Folder folder;
  const fs::path file = folder / "p.sqlite";
  ProfileStore store(file, kWrite);
  const TuningRun run = store.begin_run("weave");
  Measurement of_run = measurement();
  of_run.run = run.id;
  store.record(of_run);
  SQLite::Database(file, SQLite::OPEN_READWRITE).exec("DELETE FROM measurements");
  const std::string line = complaint([&] { store.end_run(run, true); });
  CHECK(contains(line, "lost records"));
  CHECK(ProfileStore(rescued(line), ProfileStore::Access::read).measurements().size() == 1);
}

TEST_CASE("nothing is lost where nothing was written") {
  const Folder folder;
  ProfileStore store(folder / "p", kWrite);
  fs::remove(folder / "p");
  CHECK(contains(complaint([&] { (void)store.begin_run("weave"); }), "nothing had been written yet"));
  CHECK(!fs::exists(folder / "p.rescued"));
}

}  // namespace
}  // namespace heddle
