#include "heddle/runtime/device/emulator/threads.hpp"

#include <fmt/format.h>

#include <cstring>

namespace heddle::emulator {

bool same(const Line& a, const Line& b) {
  return a.line == b.line && (a.file == b.file || std::strcmp(a.file, b.file) == 0);
}

std::string text(const Line& line) { return fmt::format("{}:{}", line.file, line.line); }

}  // namespace heddle::emulator
