#include "heddle/bench/common/program.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "heddle/kernels/error.hpp"

namespace heddle::bench {

int exit_code(std::string_view program, const std::function<int()>& run) {
  try {
    return run();
  } catch (const Error& error) {
    fmt::print(stderr, "{}: {}\n", program, error.what());
    return static_cast<int>(error.kind());
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", program, error.what());
    return static_cast<int>(ErrorKind::bug);
  }
}

std::string command_line(int count, char** words) { return fmt::format("{}", fmt::join(words, words + count, " ")); }

}  // namespace heddle::bench
