// Errors that a user can cause. Each carries one line for the user; the program maps its kind to an exit code.
#pragma once

#include <stdexcept>
#include <string>

namespace heddle {

/// The kind of an error, in the words of the command line's exit codes.
enum class ErrorKind {
  bug = 1,       ///< a broken promise inside heddle
  usage = 2,     ///< an option or argument that makes no sense
  input = 3,     ///< a data, model or import file that cannot be used
  device = 4,    ///< no such device or toolchain, or it failed
  profiles = 5,  ///< the profile database
};

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& line) : std::runtime_error(line), kind_(kind) {}
  [[nodiscard]] ErrorKind kind() const noexcept { return kind_; }

 private:
  ErrorKind kind_;
};

}  // namespace heddle
