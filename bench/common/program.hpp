// What the main functions of the programs here have in common.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace heddle::bench {

/// What `run` returns. If it throws, the error's line goes to stderr behind the program's name, and the exit code is
/// that of the error's kind; 1 if it is no Error.
[[nodiscard]] int exit_code(std::string_view program, const std::function<int()>& run);

/// The words of a command line with spaces between them, as results record it.
[[nodiscard]] std::string command_line(int count, char** words);

}  // namespace heddle::bench
