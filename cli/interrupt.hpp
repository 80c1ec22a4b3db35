// Ctrl-C and SIGTERM: the first asks to stop, so that what was done is kept; the second ends the program at once.
#pragma once

namespace heddle::cli {

/// What a shell reports for a program that SIGINT ended.
inline constexpr int exit_interrupted = 130;

/// A closed standard output becomes an error of writing instead of a signal.
void ignore_closed_pipes();
/// From now on the first signal only asks to stop. Before, and in commands that never call this, it ends the program.
void catch_interrupts();
/// Whether somebody asked to stop. Safe in any thread.
[[nodiscard]] bool interrupted() noexcept;

}  // namespace heddle::cli
