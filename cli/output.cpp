#include "heddle/cli/output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>
#include <mutex>

#include "heddle/cli/interrupt.hpp"
#include "heddle/kernels/device_identity.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/kernels/files.hpp"
#include "heddle/kernels/text.hpp"

namespace heddle::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTerminalInterval{100}, kLogInterval{10'000};
constexpr std::size_t kOutputBuffer = std::size_t{1} << 16, kLongestNote = 1000, kLongestCell = 200;

std::mutex output_mutex;  // of the next three
std::string output;       // printed and not yet written
int write_error = 0;      // of standard output, the first one
int destination = STDOUT_FILENO;

/// With the mutex held.
void push() noexcept {
  if (write_error == 0) write_error = write_all(destination, output, interrupted);
  output.clear();
}

/// A line that cannot be written is lost: there is no place to report it.
void say(std::string_view text) noexcept { (void)write_all(STDERR_FILENO, text, interrupted); }

/// Columns of a terminal; 80 if it does not say.
std::size_t terminal_width() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

void prepare_streams() {
  // Where a stream is closed, reading finds nothing and writing fails, as it should.
  for (int taken = ::open("/dev/null", O_RDONLY); taken >= 0; taken = ::open("/dev/null", O_RDONLY)) {
    if (taken <= STDERR_FILENO) continue;
    ::close(taken);
    break;
  }
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

void leave_output_to(const std::string& file) {
  struct stat of_file = {}, of_output = {};
  if (file.empty() || stat(file.c_str(), &of_file) != 0 || fstat(STDOUT_FILENO, &of_output) != 0) return;
  if (of_file.st_dev != of_output.st_dev || of_file.st_ino != of_output.st_ino) return;
  const std::scoped_lock lock(output_mutex);
  push();
  destination = STDERR_FILENO;
}

void print_bytes(std::string_view bytes) {
  const std::scoped_lock lock(output_mutex);
  if (write_error != 0) return;
  output += bytes;
  if (output.size() >= kOutputBuffer) push();
}

void print(std::string_view text, std::size_t longest) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    print_bytes(longest == std::string_view::npos ? printable(line) : brief(line, longest));
    if (end < text.size()) print_bytes("\n");
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void push_output() noexcept {
  const std::scoped_lock lock(output_mutex);
  push();
}

void flush_output(std::string_view meanwhile) {
  const std::scoped_lock lock(output_mutex);
  push();
  if (write_error == 0 || write_error == EPIPE) return;
  throw Error(ErrorKind::input, fmt::format("cannot write to standard output: {}{}{}", std::strerror(write_error),
                                            meanwhile.empty() ? "" : "; ", meanwhile));
}

bool output_is_terminal() { return ::isatty(STDOUT_FILENO) != 0; }

void note(std::string_view line) noexcept {
  try {
    constexpr std::string_view kPrefix = "heddle: ";
    say(fmt::format("{}{}\n", kPrefix, brief(line, kLongestNote - kPrefix.size())));
  } catch (const std::exception&) {
    say("heddle: out of memory\n");
  }
}

void note_timing(std::string_view backend) {
  if (!can_be_timed(backend)) note("this device is for finding faults: its times mean nothing, and no profile is kept");
}

void Table::row(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = brief(cell, kLongestCell);
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t width = columns(columns_[c].title);
    for (const auto& row : rows_) width = std::max(width, columns(row[c]));
    widths.push_back(width);
  }
  std::string text;
  const auto line = [&](const auto& cell) {
    std::string joined;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const std::string blanks(widths[c] - columns(cell(c)), ' ');
      joined += columns_[c].align == Align::right ? blanks + cell(c) : cell(c) + blanks;
      joined += "  ";
    }
    joined.erase(joined.find_last_not_of(' ') + 1);
    text += joined + '\n';
  };
  line([&](std::size_t c) -> const std::string& { return columns_[c].title; });
  for (const auto& row : rows_) line([&](std::size_t c) -> const std::string& { return row[c]; });
  return text;
}

ProgressBar::ProgressBar(bool quiet)
    : quiet_(quiet),
      terminal_(isatty(STDERR_FILENO) != 0),
      next_(Clock::now() + (terminal_ ? kTerminalInterval : kLogInterval)) {}

ProgressBar::~ProgressBar() { clear(); }

void ProgressBar::show(double fraction, const std::string& text) {
  const auto now = Clock::now();
  if (quiet_ || now < next_) return;
  fraction = std::clamp(fraction, 0.0, 1.0);
  if (!terminal_) {
    next_ = now + kLogInterval;
    say(fmt::format("{:3.0f} %  {}\n", 100 * fraction, brief(text, kLongestNote)));
    return;
  }
  next_ = now + kTerminalInterval;
  constexpr int cells = 24;
  const int full = static_cast<int>(std::lround(fraction * cells));
  const std::string line =
      fmt::format("[{:=<{}}{:<{}}] {:3.0f} %  {}", "", full, "", cells - full, 100 * fraction, printable(text));
  say(fmt::format("\r{}\x1b[K", first_columns(line, terminal_width() - 1)));
  drawn_ = true;
}

void ProgressBar::clear() {
  if (drawn_) say("\r\x1b[K");
  drawn_ = false;
}

std::string short_number(double value) {
  if (!std::isfinite(value)) return fmt::format("{}", value);
  const double size = std::abs(value);
  if (size != 0 && size < 1) return fmt::format("{:.3g}", value);
  const int decimals = size >= 100 ? 0 : size >= 10 ? 1 : 2;
  return fmt::format("{:.{}f}", value, decimals);
}

std::string duration(double seconds) {
  const auto whole = static_cast<long>(std::ceil(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace heddle::cli
