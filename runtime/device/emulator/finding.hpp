// The emulator's report of a fault in a kernel.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "heddle/profiles/status.hpp"
#include "heddle/runtime/device/emulator/kernel/interface.hpp"

namespace heddle::emulator {

/// One fault, as the thread saw it that ran into it.
struct Finding {
  Status status = Status::wrong_result;
  std::string what{};
  std::optional<Place> place{};  ///< nothing: the whole launch
  std::uintptr_t at = 0;         ///< address behind the instruction; 0: not known
  std::string line{};            ///< where `at` is not known
  std::string other{};           ///< the other side: "written by thread (3, 0, 0) of block (1, 0, 0)"
  std::uint32_t other_at = 0;    ///< low half of the address; 0: not known
};

/// A loaded object: its file, and where it is in memory.
struct LoadedCode {
  std::filesystem::path file;
  std::uintptr_t begin = 0, end = 0;
};

/// "train.cuh:88, called from train.cuh:301": the line of an instruction and the lines that inlined it, by addr2line;
/// empty if that is not known. `at` is the address behind the instruction, or its low half.
[[nodiscard]] std::string source_line(const std::vector<LoadedCode>& code, std::uintptr_t at);

/// "(3, 0, 0)"
[[nodiscard]] std::string text(const Index3& index);
/// One line. `kernel`: its expression.
[[nodiscard]] std::string text(const Finding& finding, const std::string& kernel, std::size_t launch,
                               const std::vector<LoadedCode>& code);

}  // namespace heddle::emulator
