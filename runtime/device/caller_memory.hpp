// Memory that a program allocated itself, and that its device can look at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "heddle/runtime/device/loaded_kernel.hpp"

namespace heddle {

/// What devices with a memory of their own can say and do about addresses of a program. Where a device has no such
/// interface, kernels see the memory of this process, and nobody knows how long a piece of it is.
class CallerMemory {
 public:
  virtual ~CallerMemory() = default;
  /// Bytes from `address`, as kernels see it, to the end of the allocation that it lies in, whoever made that; nothing
  /// where that cannot be known. May be called from any thread.
  [[nodiscard]] virtual std::optional<std::int64_t> bytes_behind(const void* address) const = 0;
  /// Copies what kernels see at `address`, after everything that was submitted to `stream`, and waits for it. May be
  /// called from any thread. Throws DeviceFailure, and Error(usage) for a stream that cannot be waited for.
  virtual void read_at(const void* address, std::span<std::byte> to, Stream stream) const = 0;
};

}  // namespace heddle
