#include "heddle/cli/output.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "heddle/kernels/device_identity.hpp"
#include "heddle/kernels/error.hpp"

namespace heddle::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTerminalInterval{100}, kLogInterval{10'000};

int write_error = 0;

/// Columns of a terminal; 80 if it does not say.
std::size_t terminal_width() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

void print(std::string_view text) {
  if (write_error == 0 && std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) write_error = errno;
}

void flush_output() {
  if (write_error == 0 && std::fflush(stdout) != 0) write_error = errno;
  if (write_error == 0 || write_error == EPIPE) return;
  throw Error(ErrorKind::input, fmt::format("cannot write to standard output: {}", std::strerror(write_error)));
}

void note(std::string_view line) { fmt::print(stderr, "heddle: {}\n", line); }

void note_timing(std::string_view backend) {
  if (!can_be_timed(backend)) note("this device is for finding faults: its times mean nothing, and no profile is kept");
}

std::string Table::text() const {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t width = columns_[c].title.size();
    for (const auto& row : rows_) width = std::max(width, row[c].size());
    widths.push_back(width);
  }
  std::string text;
  const auto line = [&](const auto& cell) {
    std::string joined;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      joined += columns_[c].align == Align::right ? fmt::format("{:>{}}", cell(c), widths[c])
                                                  : fmt::format("{:<{}}", cell(c), widths[c]);
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
    std::fprintf(stderr, "%3.0f %%  %s\n", 100 * fraction, text.c_str());
    return;
  }
  next_ = now + kTerminalInterval;
  constexpr int cells = 24;
  const int full = static_cast<int>(std::lround(fraction * cells));
  std::string line = fmt::format("[{:=<{}}{:<{}}] {:3.0f} %  {}", "", full, "", cells - full, 100 * fraction, text);
  line.resize(std::min(line.size(), terminal_width() - 1));
  std::fprintf(stderr, "\r%s\x1b[K", line.c_str());
  drawn_ = true;
}

void ProgressBar::clear() {
  if (drawn_) std::fputs("\r\x1b[K", stderr);
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
