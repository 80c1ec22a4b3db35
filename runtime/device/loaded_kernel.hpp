// One kernel that a program launches again and again with arguments of its own.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

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
  /// and the emulator it is any memory of this process. Behind the arguments come the addresses of what is copied to
  /// constant memory (call_constants()), which takes its turn on the stream: calls on several streams that run at the
  /// same time have to give the same contents. Values are read before this returns. On a GPU and, with one
  /// thread, on the CPU nothing is allocated and no lock is taken. Throws DeviceFailure.
  virtual void launch(void* const* values, std::optional<Stream> stream) const = 0;
};

/// A `__constant__` variable that a call fills before the kernel runs.
struct CallConstant {
  std::size_t buffer = 0;  ///< of the plan
  std::size_t value = 0;   ///< index in `values` of LoadedKernel::launch(): where the address of the contents lies
};
/// The buffers of a plan that are copied to constant memory. One that the kernel takes as well is that argument; the
/// others come behind the arguments, in their order.
[[nodiscard]] std::vector<CallConstant> call_constants(const Plan& plan);

/// Throws Error(usage) with the reason if a plan is no single launch of a kernel on buffers that are there as a whole.
void require_one_kernel(const Plan& plan);

}  // namespace heddle
