// Output of the program: tables and text on standard output, progress and remarks on standard error.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::cli {

/// Called first in the program. Opens the descriptors 0, 1 and 2 if they are closed, so that no file opened later
/// receives what is meant for standard output or error. Turns the signals for a closed pipe and a file beyond its size
/// limit into errors of writing.
void prepare_streams();

/// Longer lines are cut in the middle.
inline constexpr std::size_t kLongestLine = 4000;

// The following functions may be called from any thread.

/// Text for people on standard output: every line printable (kernels/text.hpp) and of at most `longest` columns. Never
/// fails, because a command in progress must not end for lack of a reader: flush_output() reports the error.
void print(std::string_view text, std::size_t longest = kLongestLine);
/// Where a command writes its result to `file` and that is what standard output is (/dev/stdout), everything printed
/// from now on goes to standard error.
void leave_output_to(const std::string& file);
/// Documents and data on standard output, byte for byte. Never fails either.
void print_bytes(std::string_view bytes);
/// Writes what was printed so far.
void push_output() noexcept;
/// The same, and throws Error(input) if something could not be written, except when the reader closed the pipe.
/// `meanwhile` says what was reached all the same, "the model is kept in m"; or nothing.
void flush_output(std::string_view meanwhile = {});
/// Whether standard output is a terminal, on which a document's bytes could do more than show.
[[nodiscard]] bool output_is_terminal();

/// One line on standard error, "heddle: ...", printable and not too long. What cannot be written is lost.
void note(std::string_view line) noexcept;
/// Tells the user if times on the backend are meaningless.
void note_timing(std::string_view backend);

/// Columns as wide as their widest cell, which shows at most 200 columns of its text; numbers to the right.
class Table {
 public:
  enum class Align { left, right };
  struct Column {
    std::string title;
    Align align = Align::left;
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// As many cells as there are columns.
  void row(std::vector<std::string> cells);
  /// Lines that end with a newline each, without trailing blanks.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// Progress on standard error: a bar that is drawn anew on a terminal, now and then a line elsewhere, nothing if quiet.
/// From one thread at a time.
class ProgressBar {
 public:
  explicit ProgressBar(bool quiet);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// `fraction` in [0, 1]; `text` says what is going on and what remains.
  void show(double fraction, const std::string& text);
  /// Removes the bar, so that lines can be printed.
  void clear();

 private:
  bool quiet_;
  bool terminal_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point next_;
};

/// "1.23", "45.6", "789": three digits that matter.
[[nodiscard]] std::string short_number(double value);
/// "12 s", "3 min 20 s".
[[nodiscard]] std::string duration(double seconds);

}  // namespace heddle::cli
