// A file to which lines are appended while a long work goes on: a log.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "heddle/kernels/stop.hpp"

namespace heddle {

/// Every line is in the file whole or not at all, whatever ends the process; what the file held before stays. A plain
/// file is locked while this lives, so that two processes do not mix their lines. Something that is no plain file (a
/// pipe, a terminal) is written to as it is. Every Error(input) has the file's name and the system's reason. From one
/// thread at a time.
class LineFile {
 public:
  /// Makes the file if there is none. A plain file that is not empty has to begin with `beginning`, or it is another
  /// program's and refused. A last line without an end, which a killed process has left, is cut off. Throws
  /// Error(input): no such folder, no right to write there, another process writes it, a pipe that nobody reads.
  /// `stop`: as in write_all().
  LineFile(std::filesystem::path file, std::string_view beginning, Stop stop = {});
  ~LineFile();
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;

  /// Appends `line` and its end, and throws Error(input) if that cannot be; the file is then as it was.
  void append(std::string_view line);

  [[nodiscard]] const std::filesystem::path& file() const noexcept { return file_; }

 private:
  void check_beginning(std::string_view beginning);
  void cut_unfinished_line();
  [[noreturn]] void fail(const std::string& why) const;

  std::filesystem::path file_;
  Stop stop_;
  int descriptor_ = -1;
  bool plain_ = false;
};

}  // namespace heddle
