// Captures: the part of CallableKernel that writes a call into a file.
#include <fmt/format.h>

#include <cstring>
#include <utility>
#include <variant>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/own/argument_value.hpp"
#include "heddle/kernels/own/capture_file.hpp"
#include "heddle/kernels/own/defined_family.hpp"
#include "heddle/kernels/own/example.hpp"
#include "heddle/kernels/text.hpp"
#include "heddle/runtime/device/caller_memory.hpp"
#include "heddle/runtime/kernel/callable_kernel.hpp"

namespace heddle {

void CallableKernel::capture(const Problem& problem, Stream stream, const std::filesystem::path& file,
                             void* const* values, const std::vector<std::optional<std::int64_t>>& lengths) const {
  const auto* const family = dispatcher_.family().defined();
  if (family == nullptr) {
    throw Error(ErrorKind::usage, fmt::format("{} cannot be captured: only a kernel that a definition describes is "
                                              "known elsewhere",
                                              dispatcher_.family().name()));
  }
  if (const auto& conditions = family->definition().conditions; !conditions.empty()) {
    throw Error(ErrorKind::usage, fmt::format("{} cannot be captured: its condition {} is a function of this program",
                                              family->name(), in_quotes(conditions.front().name)));
  }
  const DeviceIdentity& device = device_.identity();
  const Plan plan = family->plan(family->default_configuration(device, problem), problem, device, 1);
  require_callable(plan);
  std::int64_t all = 0;
  for (const Buffer& buffer : plan.buffers) {
    if (has_contents(buffer)) all += buffer.bytes;
  }
  if (all > kLargestCapture) {
    throw Error(ErrorKind::usage, fmt::format("{} at {} cannot be captured: its buffers have {} bytes, expected at "
                                              "most {}",
                                              family->name(), problem.text(), all, kLargestCapture));
  }

  KernelCapture capture{
      .kernel = family->definition(), .problem = problem, .numbers = {}, .contents = {}, .device = device.name};
  const auto* const memory = dynamic_cast<const CallerMemory*>(&device_);
  const std::vector<Argument>& arguments = plan.launches.front().arguments;
  const auto keep_contents = [&](const Buffer& buffer, std::size_t i) {
    if (!has_contents(buffer)) return;
    std::vector<std::byte>& bytes = capture.contents[buffer.name];
    if (buffer.bytes == 0) return;
    const void* address = nullptr;
    std::memcpy(&address, values[i], sizeof address);
    auto known = lengths[i];
    if (!known && memory != nullptr) known = memory->bytes_behind(address);
    if (!known) {
      throw Error(ErrorKind::usage,
                  fmt::format("{}: the length of {} cannot be known on {}; a std::span in place of the pointer says it",
                              family->name(), in_quotes(buffer.name), device_.label()));
    }
    if (*known < buffer.bytes) {
      throw Error(ErrorKind::usage, fmt::format("{} at {}: {} has {} bytes, expected {}", family->name(),
                                                problem.text(), in_quotes(buffer.name), *known, buffer.bytes));
    }
    bytes.resize(static_cast<std::size_t>(buffer.bytes));
    if (memory != nullptr) {
      memory->read_at(address, bytes, stream);
    } else {
      std::memcpy(bytes.data(), address, bytes.size());  // a launch is done when it returns
    }
  };
  std::size_t argument = 0;
  for (const KernelArgument& named : capture.kernel.arguments) {
    if (named.is_buffer() && !named.passed) continue;
    if (const auto* const place = std::get_if<BufferArgument>(&arguments[argument])) {
      keep_contents(plan.buffers[static_cast<std::size_t>(place->buffer)], argument);
    } else {
      const auto* const from = static_cast<const std::byte*>(values[argument]);
      capture.numbers[named.name] = {from, from + bytes_of(arguments[argument]).size()};
    }
    ++argument;
  }
  for (const CallConstant& constant : call_constants(plan)) {
    if (constant.value >= arguments.size()) keep_contents(plan.buffers[constant.buffer], constant.value);
  }
  write_capture(file, capture);
}

}  // namespace heddle
