#include "heddle/runtime/device/loaded_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <variant>

#include "heddle/kernels/error.hpp"

namespace heddle {

std::vector<CallConstant> call_constants(const Plan& plan) {
  std::vector<CallConstant> constants;
  const std::vector<Argument>& arguments = plan.launches.front().arguments;
  std::size_t behind = arguments.size();
  for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
    if (plan.buffers[i].symbol.empty()) continue;
    const auto passed = std::ranges::find_if(arguments, [i](const Argument& argument) {
      const auto* const buffer = std::get_if<BufferArgument>(&argument);
      return buffer != nullptr && static_cast<std::size_t>(buffer->buffer) == i;
    });
    const bool is_passed = passed != arguments.end();
    constants.push_back(
        {.buffer = i, .value = is_passed ? static_cast<std::size_t>(passed - arguments.begin()) : behind++});
  }
  return constants;
}

void require_one_kernel(const Plan& plan) {
  const auto refuse = [](const std::string& why) {
    throw Error(ErrorKind::usage, fmt::format("{}: a kernel that is called by itself is one launch", why));
  };
  if (plan.launches.size() != 1) refuse(fmt::format("the plan has {} launches", plan.launches.size()));
  const Launch& launch = plan.launches.front();
  if (!launch.routine.empty()) refuse(fmt::format("the plan calls the routine '{}'", launch.routine));
  const std::size_t values = launch.arguments.size() + call_constants(plan).size();
  if (values > LoadedKernel::kMostArguments) {
    refuse(fmt::format("the kernel has {} arguments, expected at most {}", values, LoadedKernel::kMostArguments));
  }
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.piece_bytes > 0) refuse(fmt::format("buffer '{}' comes in pieces", buffer.name));
  }
}

}  // namespace heddle
