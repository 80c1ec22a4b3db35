#include "heddle/runtime/device/cpu/process.hpp"

#include <doctest/doctest.h>

#include <filesystem>

#include "heddle/kernels/error.hpp"

namespace heddle {
namespace {

TEST_CASE("a process ends with a status and what it said, and no shell reads its words") {
  const ScratchFolder folder;
  const auto said = run_process({"/bin/echo", "$HOME; ls", "*"}, folder.path() / "log");
  CHECK(said.status == 0);
  CHECK(said.output == "$HOME; ls *\n");
  const auto failed = run_process({"/bin/ls", (folder.path() / "nothing").string()}, folder.path() / "log");
  CHECK(failed.status != 0);
  CHECK(failed.output.find("nothing") != std::string::npos);
  CHECK_THROWS_AS(static_cast<void>(run_process({"/no/such/program"}, folder.path() / "log")), Error);
}

TEST_CASE("a scratch folder goes with what is in it") {
  std::filesystem::path path;
  {
    const ScratchFolder folder;
    path = folder.path();
    std::filesystem::create_directories(path / "a" / "b");
    CHECK(std::filesystem::status(path).permissions() == std::filesystem::perms::owner_all);
  }
  CHECK_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace heddle
