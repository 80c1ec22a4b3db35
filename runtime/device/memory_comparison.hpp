// Comparison of memory by a kernel, for devices whose memory the host reads slowly.
#pragma once

#include <cstdint>
#include <memory>

#include "heddle/kernels/template_source.hpp"
#include "heddle/runtime/device/device.hpp"

namespace heddle {

class MemoryComparison {
 public:
  /// Compiles the kernel and loads it once; the device must outlive it. Throws DeviceFailure.
  explicit MemoryComparison(Device& device);

  /// Device::same(). Both are memory of the device that kernels see as a whole.
  [[nodiscard]] bool same(Memory& a, Memory& b) const;

 private:
  Device& device_;
  TemplateSource source_;
  std::shared_ptr<const Binary> binary_;
  std::shared_ptr<Memory> differ_;
};

}  // namespace heddle
