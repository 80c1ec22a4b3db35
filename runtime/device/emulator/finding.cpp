#include "heddle/runtime/device/emulator/finding.hpp"

#include <fmt/format.h>

#include <sstream>

#include "heddle/kernels/error.hpp"
#include "heddle/runtime/device/cpu/process.hpp"
#include "heddle/runtime/device/cpu/scratch_folder.hpp"
#include "heddle/runtime/device/cpu/system_compiler.hpp"

namespace heddle::emulator {
namespace {

constexpr std::uintptr_t kLow = 0xffffffffU;

/// "step.cuh:12" of "heddle/kernels/sonfin/cuda/step.cuh:12 (discriminator 3)"; empty for "??:0".
std::string short_line(const std::string& line) {
  const std::string first = line.substr(0, line.find(' '));
  return first.starts_with("??") || first.ends_with(":?") ? std::string() : first.substr(first.rfind('/') + 1);
}

}  // namespace

std::string source_line(const std::vector<LoadedCode>& code, std::uintptr_t at) {
  if (at == 0) return {};
  for (const LoadedCode& object : code) {
    // The bytes from the beginning of the object, also if the upper half of the address is not known.
    const std::uintptr_t offset = at > kLow ? at - object.begin : (at - object.begin) & kLow;
    if (offset == 0 || offset >= object.end - object.begin) continue;
    const auto program = find_program("addr2line");
    if (!program) return {};
    std::istringstream lines;
    try {
      const ScratchFolder folder;
      // One byte back: the address is the one behind a call.
      lines.str(run_process({program->string(), "-i", "-e", object.file.string(), fmt::format("{:#x}", offset - 1)},
                            folder.path() / "log")
                    .output);
    } catch (const Error&) {
      return {};
    }
    std::string text;
    for (std::string line; std::getline(lines, line);) {
      const std::string where = short_line(line);
      if (where.empty() || where.starts_with("unit.cpp")) break;
      text += (text.empty() ? "" : ", called from ") + where;
    }
    return text;
  }
  return {};
}

std::string text(const Index3& index) { return fmt::format("({}, {}, {})", index.x, index.y, index.z); }

std::string text(const Finding& finding, const std::string& kernel, std::size_t launch,
                 const std::vector<LoadedCode>& code) {
  std::string line = "emulator: " + kernel;
  if (finding.place) {
    line += fmt::format(", block {} thread {}", text(finding.place->block), text(finding.place->thread));
  }
  const std::string at = finding.line.empty() ? source_line(code, finding.at) : finding.line;
  if (!at.empty()) line += ", " + at;
  line += ": " + finding.what;
  if (!finding.other.empty()) line += "; " + finding.other;
  const std::string other = source_line(code, finding.other_at);
  if (!other.empty()) line += fmt::format(" ({})", other);
  return line + fmt::format(" [launch {}]", launch);
}

}  // namespace heddle::emulator
