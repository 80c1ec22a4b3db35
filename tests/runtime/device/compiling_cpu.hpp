// The CPU for tests that compile kernels of their own.
#pragma once

#include <memory>

#include "heddle/runtime/device/cpu/cpu_device.hpp"
#include "runtime/device/environment_variable.hpp"
#include "skip.hpp"
#include "temporary_folder.hpp"

namespace heddle::test {

/// The CPU with a compile cache that is empty at first and removed at the end.
class CompilingCpu {
 public:
  /// Null where there is no compiler. The test is then skipped.
  [[nodiscard]] Device* device_or_skip() const {
    if (device_->remark().empty()) return device_.get();
    skip(device_->remark());
    return nullptr;
  }

 private:
  TemporaryFolder folder_;
  Variable cache_{"XDG_CACHE_HOME", folder_.path().string()};
  std::unique_ptr<Device> device_ = open_cpu_device();
};

}  // namespace heddle::test
