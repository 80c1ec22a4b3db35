// Other programs, started without a shell.
#pragma once

#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

namespace heddle {

struct ProcessResult {
  int status = -1;     ///< exit code; -1 if it did not end by itself
  std::string output;  ///< stdout and stderr together
};

/// The working folder and the deadline of a program.
struct ProcessLimits {
  double seconds = 10.0;      ///< then it is killed
  std::stop_token stop = {};  ///< then as well
  /// For its temporary files, so that nothing of a program that is killed stays behind; empty: those of this process.
  std::filesystem::path temporary = {};
};

/// Runs words[0], a path, with the other words as arguments, nothing on its standard input, and waits for it. `capture`
/// is a file that it may overwrite. The program has a process group of its own: where it is killed, so is all that it
/// started. If the calling thread or its process ends before, the program is killed, but nobody is left who could kill
/// what it started. Throws Error(device), which names the program, if it cannot be started or does not end in time, and
/// Interrupted if it was stopped.
[[nodiscard]] ProcessResult run_process(const std::vector<std::string>& words, const std::filesystem::path& capture,
                                        const ProcessLimits& limits = {});

}  // namespace heddle
