// The commands of the program `heddle`, one file each.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace heddle::cli {

/// What a command does once its arguments are read; returns the exit code. Throws heddle::Error.
using Action = std::function<int()>;

/// Each declares a command with its options on `program`. Parsing a command line that names the command sets `chosen`.
void add_devices(CLI::App& program, Action& chosen);
void add_tune(CLI::App& program, Action& chosen);
void add_train(CLI::App& program, Action& chosen);
void add_predict(CLI::App& program, Action& chosen);
void add_profiles(CLI::App& program, Action& chosen);

}  // namespace heddle::cli
