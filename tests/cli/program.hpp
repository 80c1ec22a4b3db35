// Runs the program `heddle` as a user does, in a folder of its own.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace heddle::test {

struct Outcome {
  int code = 0;          ///< exit code; 128 + N if signal N ended it
  std::string out, err;  ///< standard error without the remark that other programs use the cores
};

/// A program under way, in a process group of its own.
struct Process {
  pid_t id = 0;
  std::string out, err;  ///< files
};

struct Limits {
  long file_bytes = -1;  ///< of any file it writes; beyond, a write fails
};

/// What standard output and standard error are in place of the files that an Outcome shows.
struct Streams {
  static constexpr const char* kClosed = "";
  const char* out = nullptr;  ///< a file, or kClosed
  const char* err = nullptr;
};

/// A temporary folder, removed at the end; data, cache and profile folders of the programs that run in it are inside.
class Workplace {
 public:
  Workplace();
  ~Workplace();
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  [[nodiscard]] std::filesystem::path path(const std::string& name) const { return folder_ / name; }
  /// Writes a file and returns its path.
  std::string write(const std::string& name, const std::string& bytes) const;
  [[nodiscard]] std::string read(const std::string& name) const;

  [[nodiscard]] Process start(const std::vector<std::string>& arguments, Limits limits = {},
                              Streams streams = {}) const;
  [[nodiscard]] Outcome wait(const Process& process) const;
  [[nodiscard]] Outcome run(const std::vector<std::string>& arguments, Limits limits = {}, Streams streams = {}) const;
  /// Waits until a file has `text` in it; throws after a minute.
  void wait_for(const std::string& file, const std::string& text) const;
  /// In a child process: becomes the program with the environment of this place. Returns only if that fails.
  void become_program(const std::vector<std::string>& arguments) const;

 private:
  std::filesystem::path folder_;
  mutable int processes_ = 0;
};

/// Checks exit code, that standard error is one line "heddle: ..." that holds every one of `words`, and that standard
/// output is empty.
void check_refused(const Outcome& outcome, int code, const std::vector<std::string>& words);

/// `rows` lines of `dim` numbers and one of `classes` classes, which the numbers tell apart, made from `seed`.
[[nodiscard]] std::string table(int rows, int dim, int classes, unsigned seed);

}  // namespace heddle::test
