// The worker process: answers the tuner's questions.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "heddle/kernels/family_registry.hpp"
#include "heddle/runtime/device/device.hpp"

namespace heddle {

/// Where a worker takes devices and families from; tests have their own.
struct WorkerWorld {
  std::function<std::unique_ptr<Device>(const std::string& label)> open = open_device;
  /// What the program knows. To these the worker adds the families that the first message describes
  /// (WorkerOptions::families); their makers have to be registered here.
  FamilyRegistry families = builtin_families();
};

/// Answers questions on `descriptor` until the other side closes it. Throws Error(usage) if it is no socket, and
/// Error(input) at the first bytes that are no message, since nothing after them can be understood. A question that
/// makes no sense is answered with an error.
void serve(int descriptor, const WorkerWorld& world = {});

}  // namespace heddle
