// What the program writes: tables and text on standard output, progress and remarks on standard error.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::cli {

/// Writes to standard output. A reader that went away (`heddle ... | head`) is no reason to stop training, so nothing
/// is reported here; flush_output() does.
void print(std::string_view text);
/// Throws Error(input) if something could not be written, except when the reader closed the pipe.
void flush_output();

/// One line on standard error, "heddle: ...".
void note(std::string_view line);
/// Says so if times on the backend mean nothing.
void note_timing(std::string_view backend);

/// Columns as wide as their widest cell; numbers to the right.
class Table {
 public:
  enum class Align { left, right };
  struct Column {
    std::string title;
    Align align = Align::left;
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// As many cells as there are columns.
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  /// Lines that end with a newline each, without trailing blanks.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// Progress on standard error: a bar that is drawn anew on a terminal, now and then a line elsewhere, nothing if quiet.
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
