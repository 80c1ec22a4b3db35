// Files that are read whole, and written whole or not at all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "heddle/kernels/stop.hpp"

namespace heddle {

/// All bytes of a file; none if it cannot be opened or read, also because it went away meanwhile, as those in /proc do.
[[nodiscard]] std::optional<std::string> file_bytes(const std::filesystem::path& file);

/// Writes all of `bytes`, however many calls that takes. Returns 0, or the error. Waits as long as it takes for a
/// reader that does not read; once `stop` says so, half a second more, and then returns ECANCELED.
[[nodiscard]] int write_all(int descriptor, std::string_view bytes, const Stop& stop = {}) noexcept;

/// The file that a write to `file` reaches: links are followed, also those that lead to a file that is yet to be made.
[[nodiscard]] std::filesystem::path followed(const std::filesystem::path& file);

/// A place for a file and room on its disk, taken before the work whose result is to be written. Nobody ever sees half
/// of the file, and a failure leaves what was there: the bytes go into a file without a name, or with one of its own
/// where the file system cannot do without, which is made durable and then renamed into place. The name is locked;
/// where names are needed, those that killed processes of this user have left are removed first. Links are followed().
/// Something that is no plain file (a pipe, a terminal), and what this process was started with (/dev/stdout,
/// /dev/fd/3), has no room to be taken, and the bytes are just written to it; a pipe that nobody reads is an error.
/// Every Error(input) has the file's name and the system's reason.
class ReservedFile {
 public:
  /// Takes `bytes` of room where the file system can promise any. Throws Error(input): no such folder, no right to
  /// write there, not so much room. `stop`: as in write_all().
  explicit ReservedFile(std::filesystem::path file, std::int64_t bytes = 0, Stop stop = {});
  /// Gives the room back if nothing was written.
  ~ReservedFile();
  ReservedFile(const ReservedFile&) = delete;
  ReservedFile& operator=(const ReservedFile&) = delete;

  /// At most once. Throws Error(input).
  void write(std::string_view bytes);

  [[nodiscard]] const std::filesystem::path& file() const noexcept { return file_; }

 private:
  void release() noexcept;
  void write_in_place(std::string_view bytes);
  /// 0, or the error.
  [[nodiscard]] int put(std::string_view bytes);

  std::filesystem::path file_;    // as it was named
  std::filesystem::path target_;  // where that leads to
  Stop stop_;
  std::string temporary_;  // the name that the new file has so far; empty: none
  int descriptor_ = -1;    // of the new file; -1: the bytes are just written to `file_`
  int given_ = -1;         // the same as one that this process was started with; -1: `file_` is to be opened
};

/// Writes a whole file: ReservedFile in one step.
void write_file(const std::filesystem::path& file, std::string_view bytes);

/// Throws what write_file() would throw about the folder, before the work whose result is to be written.
void check_writable(const std::filesystem::path& file);

}  // namespace heddle
