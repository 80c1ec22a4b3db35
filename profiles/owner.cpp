#include "heddle/profiles/owner.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <sstream>

#include "heddle/kernels/files.hpp"

namespace heddle {

namespace {

std::string host() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "?";
  return name.data();
}

/// Clock ticks since the machine started, and which start that was; empty if there is no such process.
std::string started(const std::string& process) {
  const std::string text = file_bytes(fmt::format("/proc/{}/stat", process)).value_or("");
  const std::size_t name = text.rfind(')');  // the name before may hold anything
  if (name == std::string::npos) return {};
  std::istringstream fields(text.substr(name + 1));
  std::string field;
  constexpr int kStartTime = 20;  // counted from the one after the name; see proc(5)
  for (int i = 0; i < kStartTime; ++i) {
    if (!(fields >> field)) return {};
    if (i == 0 && (field == "Z" || field == "X")) return {};  // has ended, nobody has asked how
  }
  std::ifstream boot_file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  boot_file >> boot;
  return fmt::format("{}/{}", boot, field);
}

}  // namespace

std::string this_process() {
  const std::string process = std::to_string(::getpid());
  return fmt::format("{} {} {}", host(), process, started(process));
}

bool may_be_running(const std::string& process) {
  std::istringstream words(process);
  std::string where, id, since;
  if (!(words >> where >> id >> since)) return false;
  return where != host() || started(id) == since;
}

}  // namespace heddle
