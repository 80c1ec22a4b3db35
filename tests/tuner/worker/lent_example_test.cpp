#include "heddle/tuner/worker/lent_example.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/own/defined_family.hpp"
#include "own_kernel.hpp"
#include "temporary_folder.hpp"

using namespace heddle;

namespace {

Problem size(std::int64_t n) { return Problem({{.name = "n", .value = n}}); }

/// Whether another process finds these contents.
bool found_elsewhere(const std::string& folder, const std::vector<Buffer>& buffers, const HostImage& expected) {
  const pid_t child = ::fork();
  if (child == 0) {
    bool found = false;
    try {
      found = *saved_example(folder, size(3), buffers) == expected;
    } catch (const Error&) {
    }
    ::_exit(found ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

TEST_CASE("contents are lent to another process for as long as their owner keeps them, and take no place on the disk") {
  const TemporaryFolder folder;
  const std::string path = folder.path().string();
  const DefinedFamily family(test::add_kernel(), {.folder = path});
  const std::vector<Buffer> buffers = family.buffers(size(3));
  std::vector<std::byte> x(12, std::byte{7}), y(12, std::byte{9});
  const HostImage expected{{"x", x}, {"y", y}};
  std::optional<LentExample> lent(std::in_place, path, size(3), buffers, ViewedImage{{"x", x}, {"y", y}});
  x.front() = y.back() = std::byte{1};  // what was lent is a copy
  CHECK(found_elsewhere(path, buffers, expected));
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) CHECK(entry.is_symlink());
  lent.reset();
  CHECK(std::filesystem::is_empty(folder.path()));
  CHECK_FALSE(found_elsewhere(path, buffers, expected));
}

TEST_CASE("contents of another size are refused, and leave nothing") {
  const TemporaryFolder folder;
  const std::string path = folder.path().string();
  const DefinedFamily family(test::add_kernel(), {.folder = path});
  const std::vector<std::byte> bytes(12, std::byte{7});
  CHECK_THROWS_WITH_AS(LentExample(path, size(3), family.buffers(size(3)), ViewedImage{{"x", bytes}}),
                       doctest::Contains("has 0 bytes of 'y', expected 12"), Error);
  CHECK(std::filesystem::is_empty(folder.path()));
}
