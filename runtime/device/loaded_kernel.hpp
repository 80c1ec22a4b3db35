// One kernel that a program launches again and again with arguments of its own.
#pragma once

#include <cstddef>
#include <optional>

#include "heddle/kernels/plan.hpp"

namespace heddle {

/// A queue for launches that the caller made: a CUstream (null: the default stream). Devices without queues ignore it.
struct Stream {
  void* handle = nullptr;
};

/// A loaded kernel with the geometry of its launch. May be used from several threads at once; must not outlive its
/// device.
class LoadedKernel {
 public:
  /// A kernel with more arguments cannot be loaded like this.
  static constexpr std::size_t kMostArguments = 128;

  virtual ~LoadedKernel() = default;
  /// Submits one launch to `stream`, or to the device's own; may return before it is done. On devices without queues
  /// it is done when this returns.
  ///
  /// `values[i]`: where the value of argument i lies, in the type that the launch of the plan gives it. The value of a
  /// buffer argument is the buffer's address as kernels see it, and the buffer is as large as the plan says; on the CPU
  /// and the emulator it is any memory of this process. Values are read before this returns. On a GPU and, with one
  /// thread, on the CPU nothing is allocated and no lock is taken. Throws DeviceFailure.
  virtual void launch(void* const* values, std::optional<Stream> stream) const = 0;
};

/// Throws Error(usage) with the reason if a plan is no single launch of a kernel on buffers that are there as a whole.
void require_one_kernel(const Plan& plan);

}  // namespace heddle
