#include "heddle/runtime/device/cpu/scratch_folder.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>

#include "temporary_folder.hpp"

namespace heddle {
namespace {

namespace fs = std::filesystem;

TEST_CASE("a scratch folder goes with what is in it") {
  fs::path path;
  {
    const ScratchFolder folder;
    path = folder.path();
    fs::create_directories(path / "a" / "b");
    CHECK(fs::status(path).permissions() == fs::perms::owner_all);
  }
  CHECK_FALSE(fs::exists(path));
}

/// Where temporary files go meanwhile.
class TemporaryFiles {
 public:
  explicit TemporaryFiles(const fs::path& where) { ::setenv("TMPDIR", where.c_str(), 1); }
  ~TemporaryFiles() {
    if (before_) {
      ::setenv("TMPDIR", before_->c_str(), 1);
    } else {
      ::unsetenv("TMPDIR");
    }
  }
  TemporaryFiles(const TemporaryFiles&) = delete;
  TemporaryFiles& operator=(const TemporaryFiles&) = delete;

 private:
  std::optional<std::string> before_ =
      std::getenv("TMPDIR") == nullptr ? std::nullopt : std::optional<std::string>(std::getenv("TMPDIR"));
};

/// Another process that makes a scratch folder, puts a file into it, and waits to be killed.
struct Owner {
  pid_t id = -1;
  fs::path folder;
  Owner() {
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    id = ::fork();
    if (id == 0) {
      const ScratchFolder scratch;
      fs::create_directories(scratch.path() / "deep" / "er");
      std::ofstream(scratch.path() / "deep" / "file") << "thread";
      const std::string name = scratch.path().string() + "\n";
      if (::write(ends[1], name.data(), name.size()) < 0) ::_exit(1);
      for (;;) ::pause();
    }
    std::string name;
    for (char c = 0; ::read(ends[0], &c, 1) == 1 && c != '\n';) name += c;
    folder = name;
    ::close(ends[0]);
    ::close(ends[1]);
    REQUIRE(fs::exists(folder / "deep" / "file"));
  }
  void kill() const {
    ::kill(id, SIGKILL);
    ::waitpid(id, nullptr, 0);
  }
};

TEST_CASE("folders of those who were killed are removed, of those at work they are not") {
  const TemporaryFolder where;
  const TemporaryFiles files(where.path());
  const Owner first, second;
  remove_abandoned_folders();
  CHECK(fs::exists(first.folder / "deep" / "file"));
  first.kill();
  CHECK(fs::exists(first.folder / "deep" / "file"));
  remove_abandoned_folders();
  CHECK_FALSE(fs::exists(first.folder));
  CHECK(fs::exists(second.folder / "deep" / "file"));
  second.kill();
  remove_abandoned_folders();
  CHECK(fs::is_empty(where.path()));
}

TEST_CASE("what is no scratch folder is left alone") {
  const TemporaryFolder where;
  const TemporaryFiles files(where.path());
  const auto make = [&](const std::string& name, const std::string& file) {
    fs::create_directories(where.path() / name);
    std::ofstream(where.path() / name / file) << "mine";
    return where.path() / name / file;
  };
  const fs::path other = make("heddle-review", ".owner");
  const fs::path unmarked = make("heddle-scratch-abcdef", "thesis.tex");
  const fs::path kept = make("elsewhere", ".owner");
  fs::create_directory_symlink(where.path() / "elsewhere", where.path() / "heddle-scratch-linked");
  std::ofstream(where.path() / "heddle-scratch-file") << "mine";
  fs::create_directories(where.path() / "heddle-scratch-marked");
  fs::create_symlink(kept, where.path() / "heddle-scratch-marked" / ".owner");
  remove_abandoned_folders();
  for (const fs::path& file : {other, unmarked, kept, where.path() / "heddle-scratch-file"}) CHECK(fs::exists(file));
  CHECK(fs::exists(where.path() / "heddle-scratch-marked"));
}

}  // namespace
}  // namespace heddle
