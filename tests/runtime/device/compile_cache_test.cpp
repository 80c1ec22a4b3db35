#include "heddle/runtime/device/compile_cache.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <random>
#include <thread>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/template_source.hpp"
#include "skip.hpp"
#include "temporary_folder.hpp"

namespace heddle {
namespace {

namespace fs = std::filesystem;

std::string random_bytes(std::size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::string bytes(count, '\0');
  for (char& byte : bytes) byte = static_cast<char>(generator());
  return bytes;
}

std::vector<fs::path> files_with(const fs::path& folder, const std::string& extension) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == extension) files.push_back(entry.path());
  return files;
}

void flip_a_byte(const fs::path& file, std::streamoff at) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekg(at);
  const int byte = stream.get();
  stream.seekp(at);
  stream.put(static_cast<char>(byte ^ 1));
}

unsigned mode_of(const fs::path& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 07777U;
}

/// As another process would open it.
std::optional<CompileCache::Entry> find_anew(const fs::path& folder, const std::string& key) {
  return CompileCache(folder).find(key);
}

TEST_CASE("compile cache: what was stored is found, also by another process") {
  const TemporaryFolder temporary;
  const fs::path folder = temporary.path() / "cache" / "heddle" / "cuda";
  CompileCache cache(folder);
  const std::string bytes = random_bytes(100'003, 1);
  const std::string a = digest("a"), b = digest("b");
  CHECK_FALSE(cache.find(a).has_value());
  const auto stored = cache.store(bytes, {{a, "first\nname"}, {b, ""}});
  CHECK(stored.blob->bytes == bytes);
  CHECK(cache.remark().empty());
  for (const auto& found : {cache.find(a), find_anew(folder, a)}) {
    REQUIRE(found.has_value());
    CHECK(found->blob->bytes == bytes);
    CHECK(found->metadata == "first\nname");
    CHECK(found->file == stored.file);
  }
  REQUIRE(find_anew(folder, b).has_value());
  CHECK(find_anew(folder, b)->metadata.empty());
  CHECK(files_with(folder, ".bin").size() == 1);
  CHECK(cache.find(a)->blob == cache.find(b)->blob);
}

TEST_CASE("compile cache: a damaged entry is removed and can be stored again") {
  const TemporaryFolder temporary;
  const fs::path folder = temporary.path() / "cuda";
  const std::string bytes = random_bytes(5000, 2), key = digest("key");
  const fs::path blob = CompileCache(folder).store(bytes, {{key, "name"}}).file;
  const fs::path entry = files_with(folder, ".entry").at(0);
  SUBCASE("a byte of the code") { flip_a_byte(blob, 4999); }
  SUBCASE("code cut off") { fs::resize_file(blob, 4096); }
  SUBCASE("empty code") { fs::resize_file(blob, 0); }
  SUBCASE("no code") { fs::remove(blob); }
  SUBCASE("a byte of the entry") { flip_a_byte(entry, static_cast<std::streamoff>(fs::file_size(entry)) - 1); }
  SUBCASE("entry cut off") { fs::resize_file(entry, fs::file_size(entry) - 2); }
  SUBCASE("empty entry") { fs::resize_file(entry, 0); }
  SUBCASE("something else") { std::ofstream(entry) << "heddle"; }
  CHECK_FALSE(find_anew(folder, key).has_value());
  CHECK_FALSE(fs::exists(entry));
  CompileCache(folder).store(bytes, {{key, "name"}});
  REQUIRE(find_anew(folder, key).has_value());
  CHECK(find_anew(folder, key)->blob->bytes == bytes);
}

TEST_CASE("compile cache: a folder that others may write to is refused") {
  const TemporaryFolder temporary;
  const fs::path folder = temporary.path() / "heddle" / "cuda";
  CompileCache{folder}.store("code", {});
  CHECK(mode_of(folder) == 0700);
  CHECK(mode_of(folder.parent_path()) == 0700);
  SUBCASE("by everybody") { ::chmod(folder.c_str(), 0777); }
  SUBCASE("by the group") { ::chmod(folder.c_str(), 0770); }
  SUBCASE("the folder above") { ::chmod(folder.parent_path().c_str(), 0757); }
  SUBCASE("somebody else's") {
    if (::geteuid() != 0 || ::chown(folder.c_str(), 65534, 65534) != 0) {
      test::skip("needs root");
      ::chmod(folder.c_str(), 0777);
    }
  }
  try {
    const CompileCache refused(folder);
    FAIL("not refused");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::device);
    CHECK(std::string(error.what()).find(folder.parent_path().string()) != std::string::npos);
    CHECK(std::string(error.what()).find('\n') == std::string::npos);
  }
}

TEST_CASE("compile cache: without a usable folder nothing is kept and nothing fails") {
  const TemporaryFolder temporary;
  std::ofstream(temporary.path() / "file") << "no folder";
  const std::string key = digest("key");
  for (const fs::path& folder : {temporary.path() / "file" / "cuda", fs::path("/proc/heddle/cuda"), fs::path()}) {
    CompileCache cache(folder);
    const auto stored = cache.store("code", {{key, "name"}});
    CHECK(stored.blob->bytes == "code");
    CHECK(stored.file.empty());
    CHECK_FALSE(cache.find(key).has_value());
    CHECK(cache.remark().find("compiled code is not kept") == 0);
    CHECK(cache.remark().find('\n') == std::string::npos);
  }
}

TEST_CASE("compile cache: the oldest go when there is too much") {
  const TemporaryFolder temporary;
  const fs::path folder = temporary.path() / "cuda";
  for (unsigned i = 0; i < 10; ++i) {
    const auto stored = CompileCache(folder).store(random_bytes(1000, i), {{digest(std::to_string(i)), "name"}});
    const auto time = fs::file_time_type::clock::now() - std::chrono::hours(10 - i);
    fs::last_write_time(stored.file, time);
    fs::last_write_time(folder / (digest(std::to_string(i)) + ".entry"), time);
  }
  std::ofstream(folder / "killed.1.0.tmp") << "half";
  fs::last_write_time(folder / "killed.1.0.tmp", fs::file_time_type::clock::now() - std::chrono::hours(30));
  REQUIRE(find_anew(folder, digest("0")).has_value());  // now the most recently used
  CompileCache(folder, 6000).store("new", {{digest("new"), "name"}});
  CHECK(find_anew(folder, digest("0")).has_value());
  CHECK(find_anew(folder, digest("9")).has_value());
  CHECK_FALSE(find_anew(folder, digest("1")).has_value());
  CHECK(find_anew(folder, digest("new")).has_value());
  CHECK(files_with(folder, ".bin").size() <= 5);
  CHECK(files_with(folder, ".tmp").empty());
}

TEST_CASE("compile cache: several users at once") {
  const TemporaryFolder temporary;
  const fs::path folder = temporary.path() / "cuda";
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      CompileCache cache(folder);
      for (unsigned i = 0; i < 50; ++i) {
        const std::string key = digest(std::to_string(i)), bytes = random_bytes(2000, i);
        const auto found = cache.find(key);
        if (found && (found->blob->bytes != bytes || found->metadata != key)) ++wrong[t];
        cache.store(bytes, {{key, key}});
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(4, 0));
  CHECK(files_with(folder, ".bin").size() == 50);
  CHECK(files_with(folder, ".tmp").empty());
  for (unsigned i = 0; i < 50; ++i) CHECK(find_anew(folder, digest(std::to_string(i))).has_value());
}

TEST_CASE("compile cache: the default folder follows XDG_CACHE_HOME") {
  const char* before = std::getenv("XDG_CACHE_HOME");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("XDG_CACHE_HOME", "/somewhere", 1);
  CHECK(CompileCache::default_folder("cuda") == "/somewhere/heddle/cuda");
  ::setenv("XDG_CACHE_HOME", "relative", 1);
  CHECK(CompileCache::default_folder("cpu") == fs::path(std::getenv("HOME")) / ".cache/heddle/cpu");
  if (before == nullptr)
    ::unsetenv("XDG_CACHE_HOME");
  else
    ::setenv("XDG_CACHE_HOME", kept.c_str(), 1);
}

}  // namespace
}  // namespace heddle
