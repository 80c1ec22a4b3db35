// Ctrl-C and SIGTERM: the first asks to stop, so that what was done is kept; the second ends the program at once.
#pragma once

namespace heddle::cli {

/// What a shell reports for a program that SIGINT ended.
inline constexpr int exit_interrupted = 130;

/// Also makes a closed standard output an error of writing instead of a signal.
void install_signal_handlers();
/// Whether somebody asked to stop. Safe in any thread.
[[nodiscard]] bool interrupted() noexcept;

}  // namespace heddle::cli
