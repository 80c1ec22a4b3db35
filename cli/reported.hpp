// How a command ends: with an exit code, and with one line where something went wrong.
#pragma once

#include <exception>
#include <functional>

#include "heddle/kernels/error.hpp"

namespace heddle::cli {

/// What the user is told of an exception: an Error as it is; that memory is short; or that it is a bug.
[[nodiscard]] Error as_error(const std::exception& exception);

/// Runs a command, writes out what it printed, and returns its exit code. What it throws becomes one line on standard
/// error and the code that docs/formats.md gives; the code is right even where the line cannot be written. A command
/// that ends well and whose output cannot be written has failed.
[[nodiscard]] int reported(const std::function<int()>& command);

}  // namespace heddle::cli
