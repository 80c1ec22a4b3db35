// The worker process: answers the tuner's questions.
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

/// Answers questions on `descriptor` until the other side closes it. Throws Error(usage) if it is no socket, and
/// Error(input) at the first bytes that are no message, since nothing after them can be understood. A question that
/// makes no sense is answered with an error.
void serve(int descriptor, const WorkerWorld& world = {});

}  // namespace heddle
