#include "heddle/kernels/files.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <optional>
#include <sstream>
#include <string>

#include "heddle/kernels/error.hpp"
#include "skip.hpp"

namespace heddle {
namespace {

namespace fs = std::filesystem;

struct Folder {
  fs::path path;
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "heddle-files-XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    path = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  [[nodiscard]] std::ptrdiff_t entries() const {
    return std::distance(fs::directory_iterator(path), fs::directory_iterator());
  }
};

std::string contents(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

TEST_CASE("write_file makes and replaces files whole and leaves nothing beside them") {
  const Folder folder;
  const fs::path file = folder.path / "a";
  const std::string bytes("\0\n\xff with zeros", 14);
  write_file(file, bytes);
  CHECK(contents(file) == bytes);
  fs::permissions(file, fs::perms(0640));
  write_file(file, "");
  CHECK(contents(file).empty());
  CHECK(fs::status(file).permissions() == fs::perms(0640));
  CHECK(folder.entries() == 1);
}

TEST_CASE("write_file follows links and leaves devices what they are") {
  const Folder folder;
  write_file(folder.path / "a", "old");
  fs::create_symlink("a", folder.path / "link");
  write_file(folder.path / "link", "new");
  CHECK(fs::is_symlink(folder.path / "link"));
  CHECK(contents(folder.path / "a") == "new");
  // Links to a file that is yet to be made, by a relative and by a whole path.
  fs::create_directory(folder.path / "b");
  fs::create_symlink("b/new", folder.path / "first");
  fs::create_symlink(folder.path / "first", folder.path / "second");
  write_file(folder.path / "second", "made");
  CHECK(fs::is_symlink(folder.path / "second"));
  CHECK(fs::is_symlink(folder.path / "first"));
  CHECK(contents(folder.path / "b" / "new") == "made");
  fs::create_symlink("round", folder.path / "round");
  CHECK_THROWS_WITH_AS(write_file(folder.path / "round", "x"), doctest::Contains("symbolic links"), Error);
  CHECK(fs::is_symlink(folder.path / "round"));
  write_file("/dev/null", "gone");
  CHECK(fs::is_character_file("/dev/null"));
}

TEST_CASE("what this process was started with is written to where it stands") {
  const Folder folder;
  const fs::path file = folder.path / "log";
  write_file(file, "before\n");
  const int open_file = ::open(file.c_str(), O_WRONLY | O_APPEND);  // NOLINT(android-cloexec-open): as a shell does
  REQUIRE(open_file >= 0);
  const std::string name = std::to_string(open_file);
  fs::create_symlink("/dev/fd/" + name, folder.path / "link");
  for (const fs::path& place : {fs::path("/dev/fd/" + name), fs::path("/proc/self/fd/" + name),
                                fs::path("/proc/" + std::to_string(getpid()) + "/fd/" + name), folder.path / "link"}) {
    check_writable(place);
    write_file(place, "one\n");
  }
  CHECK(::write(open_file, "after\n", 6) == 6);
  CHECK(contents(file) == "before\none\none\none\none\nafter\n");
  CHECK(folder.entries() == 2);
  ::close(open_file);
  CHECK_THROWS_WITH_AS(check_writable("/dev/fd/" + name), doctest::Contains("Bad file descriptor"), Error);
  // The number may then be that of a file of this program, or of one that is only read.
  for (const int how : {O_WRONLY | O_CLOEXEC, O_RDONLY}) {
    const int other = ::open(file.c_str(), how);
    REQUIRE(other >= 0);
    CHECK_THROWS_WITH_AS(check_writable("/dev/fd/" + std::to_string(other)), doctest::Contains("Bad file"), Error);
    ::close(other);
  }
}

TEST_CASE("a reserved file takes its room at once and shows when it is written") {
  const Folder folder;
  const fs::path file = folder.path / "a";
  write_file(file, "old");
  { const ReservedFile unused(file, 1 << 20); }
  CHECK(contents(file) == "old");
  CHECK(folder.entries() == 1);
  {
    ReservedFile place(file, 1 << 20);
    CHECK(contents(file) == "old");
    place.write("new");
    CHECK(contents(file) == "new");
    CHECK(fs::file_size(file) == 3);
  }
  CHECK(contents(file) == "new");
  CHECK(folder.entries() == 1);
  CHECK_THROWS_WITH_AS(ReservedFile(file, std::int64_t{1} << 60), doctest::Contains("no room for"), Error);
  CHECK_THROWS_WITH_AS(ReservedFile(folder.path / std::string(300, 'x')), doctest::Contains("too long"), Error);
  CHECK(contents(file) == "new");
  CHECK(folder.entries() == 1);
  ReservedFile("/dev/null", std::int64_t{1} << 60).write("gone");
}

TEST_CASE("a reserved file whose folder has gone says so") {
  const Folder folder;
  fs::create_directory(folder.path / "inner");
  ReservedFile place(folder.path / "inner" / "a", 1 << 16);
  fs::remove_all(folder.path / "inner");
  CHECK_THROWS_WITH_AS(place.write("x"), doctest::Contains("inner/a"), Error);
}

TEST_CASE("a file is read whole; what cannot be read is no file, and nothing is thrown") {
  const Folder folder;
  std::string bytes(100003, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i % 251);
  write_file(folder.path / "some", bytes);
  CHECK(file_bytes(folder.path / "some") == bytes);
  write_file(folder.path / "none", "");
  CHECK(file_bytes(folder.path / "none") == "");
  CHECK(file_bytes("/proc/self/stat").value_or("").size() > 10);  // the system gives no size for it
  CHECK_FALSE(file_bytes(folder.path / "missing").has_value());
  CHECK_FALSE(
      file_bytes(folder.path).has_value());  // opens, but reading it is an error, as of a process that has ended
}

TEST_CASE("write_file says why it cannot and leaves what was there") {
  const Folder folder;
  CHECK_THROWS_WITH_AS(write_file(folder.path / "no" / "b", "x"), doctest::Contains("no/b"), Error);
  CHECK_THROWS_AS(write_file(folder.path, "x"), Error);
  CHECK_THROWS_WITH_AS(write_file("/dev/full", "x"), doctest::Contains("No space left"), Error);
  CHECK(folder.entries() == 0);
}

/// Runs `work` in a process that sees no /proc, without which no file can be made without a name; returns what `work`
/// returns, or nothing if such a process cannot be made here. The process ends as one that is killed: nothing is
/// tidied.
std::optional<int> without_proc(const std::function<int()>& work) {
  constexpr int kImpossible = 99;
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const bool done = ::unshare(CLONE_NEWNS) == 0 &&
                      ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                      ::umount2("/proc", MNT_DETACH) == 0;
    ::_exit(done ? work() : kImpossible);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kImpossible) return std::nullopt;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_CASE("where files need a name, those of killed processes go with the next one, and no others") {
  const Folder folder;
  const auto reserve_and_die = [&] {
    const ReservedFile place(folder.path / "a", 1 << 16);
    const int entries = static_cast<int>(folder.entries());
    ::_exit(entries);
    return 0;
  };
  const auto first = without_proc(reserve_and_die);
  if (!first) return test::skip("no right to hide /proc");
  CHECK(first == 1);
  CHECK(folder.entries() == 1);
  std::ofstream(folder.path / "other") << "not heddle's";
  CHECK(without_proc(reserve_and_die) == 2);  // one went, one came
  CHECK(without_proc([&] {
          ReservedFile one(folder.path / "a", 1 << 16);
          ReservedFile two(folder.path / "b", 1 << 16);
          const int entries = static_cast<int>(folder.entries());  // both live, and the other file
          one.write("1");
          two.write("2");
          return entries;
        }) == 3);
  CHECK(contents(folder.path / "a") == "1");
  CHECK(contents(folder.path / "b") == "2");
  CHECK(folder.entries() == 3);
}

TEST_CASE("a pipe that nobody reads is no place to wait at") {
  const Folder folder;
  const fs::path file = folder.path / "pipe";
  REQUIRE(mkfifo(file.c_str(), 0600) == 0);
  CHECK_THROWS_WITH_AS(write_file(file, "x"), doctest::Contains("no program reads it"), Error);
  const int reader = ::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  REQUIRE(reader >= 0);
  write_file(file, "read");
  std::string read(8, '\0');
  CHECK(::read(reader, read.data(), read.size()) == 4);
  CHECK(read.starts_with("read"));
  // More than a pipe holds, for a reader that has fallen asleep.
  CHECK_THROWS_WITH_AS(ReservedFile(file, 0, [] { return true; }).write(std::string(1 << 20, 'x')),
                       doctest::Contains("pipe"), Error);
  ::close(reader);
}

}  // namespace
}  // namespace heddle
