// A call of a defined kernel in a file: what is needed to tune the kernel for that call somewhere else.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "heddle/kernels/own/kernel_definition.hpp"
#include "heddle/kernels/plan.hpp"
#include "heddle/kernels/problem.hpp"

namespace heddle {

/// Bytes of all buffers of a capture together.
constexpr std::int64_t kLargestCapture = std::int64_t{1} << 33U;

struct KernelCapture {
  /// With its sources. Its problems are the captured one; it names no files.
  KernelDefinition kernel;
  Problem problem;
  KernelNumbers numbers;    ///< that the call passed
  HostImage contents;       ///< before the call: of every buffer that is neither output nor scratch
  std::string device = {};  ///< name of the device that the call was made on; for people
};

/// Writes a capture (docs/formats.md), whole or not at all. Throws Error(input): more than kLargestCapture, or a file
/// that cannot be written.
void write_capture(const std::filesystem::path& file, const KernelCapture& capture);

/// Whether a file begins as a capture does. False for one that cannot be read.
[[nodiscard]] bool is_capture(const std::filesystem::path& file);

/// What write_capture() wrote. Nothing in the file is executed, and it names no other file: its sources are only ever
/// compiled for a device and run there. `allow_outside`: whether words for the compiler may name files.
///
/// Throws Error(input) for a file that cannot be read, is none or of another version, is cut off or damaged (lengths
/// and digests), is larger than allowed, whose definition makes no sense, or that asks for files.
[[nodiscard]] KernelCapture read_capture(const std::filesystem::path& file, bool allow_outside = false);

}  // namespace heddle
