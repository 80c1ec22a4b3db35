#include "heddle/kernels/line_file.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <string>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/files.hpp"
#include "temporary_folder.hpp"

namespace heddle::test {
namespace {

constexpr std::string_view kBegins = R"({"log")";

std::string refusal(const std::filesystem::path& file) {
  try {
    const LineFile opened(file, kBegins);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    return error.what();
  }
  return {};
}

TEST_CASE("a line file appends whole lines to what is there, without the half line of a killed process") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "log";
  {
    LineFile lines(file, kBegins);
    lines.append(R"({"log": 1})");
  }
  std::ofstream(file, std::ios::app) << R"({"half": )" << std::string(10'000, 'x');
  {
    LineFile lines(file, kBegins);
    lines.append(R"({"log": 2})");
  }
  CHECK(file_bytes(file) == std::string("{\"log\": 1}\n{\"log\": 2}\n"));
}

TEST_CASE("a line file has one writer, and refuses what another program wrote") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "log";
  {
    LineFile first(file, kBegins);
    CHECK(refusal(file).find("another process writes it") != std::string::npos);
    first.append(R"({"log": 1})");
  }
  CHECK(refusal(file).empty());
  write_file(folder.path() / "data.csv", "1,2,3\n");
  CHECK(refusal(folder.path() / "data.csv").find("there is something else in it") != std::string::npos);
  CHECK(file_bytes(folder.path() / "data.csv") == std::string("1,2,3\n"));
  CHECK(refusal(folder.path() / "none" / "log").find("No such file or directory") != std::string::npos);
}

TEST_CASE("a line file says when its file was deleted or its device is full") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "log";
  LineFile lines(file, kBegins);
  std::filesystem::remove(file);
  CHECK_THROWS_WITH_AS(lines.append("x"), doctest::Contains("deleted or replaced"), Error);
  LineFile full("/dev/full", kBegins);
  CHECK_THROWS_WITH_AS(full.append("x"), doctest::Contains("No space left on device"), Error);
}

}  // namespace
}  // namespace heddle::test
