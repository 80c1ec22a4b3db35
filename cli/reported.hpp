// How a command ends: with an exit code, and with one line where something went wrong.
#pragma once

#include <functional>

namespace heddle::cli {

/// Runs a command, writes out what it printed, and returns its exit code. What it throws becomes one line on standard
/// error and the code that docs/formats.md gives; the code is right even where the line cannot be written. A command
/// that ends well and whose output cannot be written has failed.
[[nodiscard]] int reported(const std::function<int()>& command);

}  // namespace heddle::cli
