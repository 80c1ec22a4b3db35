// Other programs, started without a shell.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace heddle {

struct ProcessResult {
  int status = -1;     ///< exit code; -1 if it did not end by itself
  std::string output;  ///< stdout and stderr together
};

/// Runs words[0], a path, with the other words as arguments, nothing on its standard input, and waits for it. `capture`
/// is a file that it may overwrite. Throws Error(device) if the program cannot be started.
[[nodiscard]] ProcessResult run_process(const std::vector<std::string>& words, const std::filesystem::path& capture);

/// A new empty folder for this user alone, removed with all that is in it.
class ScratchFolder {
 public:
  ScratchFolder();  ///< throws Error(device)
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace heddle
