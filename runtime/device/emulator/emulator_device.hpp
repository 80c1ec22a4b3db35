// The device "emulator": runs CUDA templates on the CPU and checks every access. For tests and for authors of kernels;
// its times mean nothing.
#pragma once

#include <cstdint>
#include <memory>

#include "heddle/runtime/device/device.hpp"

namespace heddle {

struct EmulatorOptions {
  int capability = 90;      ///< compute capability times ten
  std::uint64_t order = 0;  ///< of threads and of what travels between blocks; 0: what waited longest comes next
};

/// Needs a C++ compiler. Throws Error(device): there is none, or no such capability is known, or the cache belongs to
/// somebody else. Faults of a kernel are DeviceFailures of Execution::launch() in one line: docs/kernel-debugging.md.
[[nodiscard]] std::unique_ptr<Device> open_emulator(EmulatorOptions options = {}, const Compiling& compiling = {});
[[nodiscard]] DeviceListing emulator_listing();

}  // namespace heddle
