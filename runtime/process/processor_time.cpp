#include "heddle/runtime/process/processor_time.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>

namespace heddle {

namespace {

/// Seconds in the program and in the kernel, from a thread's line in /proc; 0 if it has ended.
double seconds_of(const std::filesystem::path& thread) {
  std::ifstream stream(thread / "stat");
  const std::string line(std::istreambuf_iterator<char>(stream), {});
  // The name of the program, in parentheses, may hold blanks and parentheses. Of the fields behind it the 12th and 13th
  // count (proc(5): utime and stime, in clock ticks).
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return 0.0;
  std::istringstream fields(line.substr(name_end + 1));
  std::string skipped;
  for (int field = 0; field < 11; ++field) fields >> skipped;
  double user = 0.0, system = 0.0;
  if (!(fields >> user >> system)) return 0.0;
  return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

/// By thread. Threads that end meanwhile are left out.
std::map<pid_t, double> seconds_of_threads(pid_t process) {
  std::map<pid_t, double> seconds;
  std::error_code ended;
  std::filesystem::directory_iterator thread(fmt::format("/proc/{}/task", process), ended);
  for (const std::filesystem::directory_iterator end; !ended && thread != end; thread.increment(ended)) {
    const std::string name = thread->path().filename();
    pid_t number = 0;
    std::from_chars(name.data(), name.data() + name.size(), number);
    seconds[number] = seconds_of(thread->path());
  }
  return seconds;
}

/// proc(5): R running or ready, D waiting for a disk, T and t stopped; S sleeping. A blank if the thread has ended.
char state_of(const std::filesystem::path& thread) {
  std::ifstream stream(thread / "stat");
  const std::string line(std::istreambuf_iterator<char>(stream), {});
  const std::size_t name_end = line.rfind(')');
  return name_end == std::string::npos || name_end + 2 >= line.size() ? ' ' : line[name_end + 2];
}

bool has_children(const std::filesystem::path& thread) {
  std::ifstream stream(thread / "children");
  pid_t child = 0;
  return static_cast<bool>(stream >> child);
}

}  // namespace

ProcessorTime::ProcessorTime(pid_t process) : process_(process), before_(seconds_of_threads(process)) {}

bool ProcessorTime::would_go_on() const {
  constexpr std::string_view kGoesOn = "RDTt";
  std::error_code ended;
  std::filesystem::directory_iterator thread(fmt::format("/proc/{}/task", process_), ended);
  for (const std::filesystem::directory_iterator end; !ended && thread != end; thread.increment(ended)) {
    if (kGoesOn.find(state_of(thread->path())) != std::string_view::npos || has_children(thread->path())) return true;
  }
  return false;
}

double ProcessorTime::of_busiest_thread() const {
  double most = 0.0;
  for (const auto& [thread, seconds] : seconds_of_threads(process_)) {
    const auto before = before_.find(thread);
    most = std::max(most, seconds - (before == before_.end() ? 0.0 : before->second));
  }
  return most;
}

}  // namespace heddle
