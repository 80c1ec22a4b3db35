#include "heddle/runtime/device/loaded_kernel.hpp"

#include <fmt/format.h>

#include <string>

#include "heddle/kernels/error.hpp"

namespace heddle {

void require_one_kernel(const Plan& plan) {
  const auto refuse = [](const std::string& why) {
    throw Error(ErrorKind::usage, fmt::format("{}: a kernel that is called by itself is one launch", why));
  };
  if (plan.launches.size() != 1) refuse(fmt::format("the plan has {} launches", plan.launches.size()));
  const Launch& launch = plan.launches.front();
  if (!launch.routine.empty()) refuse(fmt::format("the plan calls the routine '{}'", launch.routine));
  if (launch.arguments.size() > LoadedKernel::kMostArguments) {
    refuse(fmt::format("the kernel has {} arguments, expected at most {}", launch.arguments.size(),
                       LoadedKernel::kMostArguments));
  }
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.piece_bytes > 0) refuse(fmt::format("buffer '{}' comes in pieces", buffer.name));
    if (!buffer.symbol.empty()) refuse(fmt::format("buffer '{}' is constant memory", buffer.name));
  }
}

}  // namespace heddle
