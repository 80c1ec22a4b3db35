// The worker process from inside.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "heddle/kernels/kernel_family.hpp"
#include "heddle/runtime/device/device.hpp"

namespace heddle {

/// Where a worker takes devices and families from; tests have their own.
struct WorkerWorld {
  std::function<std::unique_ptr<Device>(const std::string& label)> open = open_device;
  std::function<const KernelFamily&(const std::string& name)> find =
      [](const std::string& name) -> const KernelFamily& { return family(name); };
};

/// Answers on `descriptor` until the other side is gone. Returns the exit code.
[[nodiscard]] int serve(int descriptor, const WorkerWorld& world = {});

}  // namespace heddle
