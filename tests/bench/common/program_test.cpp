#include "heddle/bench/common/program.hpp"

#include <doctest/doctest.h>

#include <array>
#include <stdexcept>
#include <string>

#include "heddle/kernels/error.hpp"

namespace heddle::bench {
namespace {

TEST_CASE("an error ends a program with the exit code of its kind, anything else with 1") {
  CHECK(exit_code("test", [] { return 7; }) == 7);
  CHECK(exit_code("test", []() -> int { throw Error(ErrorKind::input, "no such file"); }) == 3);
  CHECK(exit_code("test", []() -> int { throw std::runtime_error("surprise"); }) == 1);
}

TEST_CASE("a command line is recorded word by word") {
  std::string program = "explore", option = "--sample", value = "4";
  std::array<char*, 3> words{program.data(), option.data(), value.data()};
  CHECK(command_line(3, words.data()) == "explore --sample 4");
  CHECK(command_line(1, words.data()) == "explore");
}

}  // namespace
}  // namespace heddle::bench
