// Comparison of memory by a kernel, for devices whose memory the host reads slowly.
#pragma once

#include <cstdint>
#include <memory>

#include "heddle/kernels/template_source.hpp"
#include "heddle/runtime/device/device.hpp"

namespace heddle {

class MemoryComparison {
 public:
  /// Starts to compile the kernel; the device must outlive it.
  explicit MemoryComparison(Device& device);

  /// Waits for the compiler and loads the kernel, once. Throws DeviceFailure.
  void get_ready();
  /// Device::same(), once it is ready. Both are memory of the device that kernels see as a whole.
  [[nodiscard]] bool same(Memory& a, Memory& b) const;

 private:
  Device& device_;
  TemplateSource source_;
  std::unique_ptr<CompileBatch> compiling_;  ///< until it is ready
  std::shared_ptr<const Binary> binary_;
  std::shared_ptr<Memory> differ_;
};

}  // namespace heddle
