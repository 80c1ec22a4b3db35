#include "heddle/bench/fuzzy/containment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "heddle/kernels/fuzzy/problem.hpp"
#include "heddle/runtime/device/device_failure.hpp"

namespace heddle {

const std::vector<SourceFile>& containment_sources();  // made by heddle_embed; containment.cuh is the first

namespace bench {
namespace {

constexpr std::int64_t kThreadsOfBlock = 128, kBlocksOfUnit = 16;

}  // namespace

std::uint64_t Containment::wrong() const {
  std::uint64_t sum = 0;
  for (const ContainmentCount& one : operations) sum += one.wrong;
  return sum;
}

const TemplateSource& containment_source() {
  static const TemplateSource source = TemplateSource::own(containment_sources(), fuzzy::compile_options());
  return source;
}

Kernels containment_kernels(std::span<const std::string_view> numbers) {
  Kernels kernels;
  kernels.reserve(numbers.size());
  for (const std::string_view number : numbers) {
    kernels.emplace_back(fmt::format("heddle::bench::check_containment<heddle::fuzzy::{}>", number));
  }
  return kernels;
}

std::vector<Containment> check_containment(Device& device, std::int64_t samples, std::uint64_t seed,
                                           const TemplateSource& source, std::span<const std::string_view> numbers) {
  Plan plan;
  plan.kernels = containment_kernels(numbers);
  plan.samples = samples;
  std::vector<Containment> found(numbers.size());
  constexpr std::int64_t kBytes = sizeof(Containment::operations);
  plan.buffers = {{"counts", kBytes * static_cast<std::int64_t>(found.size()), Role::state}};
  const std::int64_t blocks =
      std::clamp<std::int64_t>((samples + kThreadsOfBlock - 1) / kThreadsOfBlock, 1,
                               std::max<std::int64_t>(device.identity().units, 1) * kBlocksOfUnit);
  for (int kernel = 0; kernel < static_cast<int>(found.size()); ++kernel) {
    plan.launches.push_back({.kernel = kernel,
                             .grid = {.x = static_cast<unsigned>(blocks)},
                             .block = {.x = static_cast<unsigned>(kThreadsOfBlock)},
                             .arguments = {BufferArgument{0, kBytes * kernel}, seed, samples}});
  }
  const CompileOutcome code = compile_one(device, {&source, plan.kernels});
  if (!code.binary) throw DeviceFailure(Status::compilation, first_complaint(code.log));
  const auto execution = device.prepare(std::move(plan), code.binary);
  Memory& counts = execution->memory("counts");
  for (std::size_t number = 0; number < found.size(); ++number) {
    found[number].number = numbers[number];
    for (ContainmentCount& one : found[number].operations) {
      one.first_wrong = std::numeric_limits<unsigned long long>::max();
    }
    counts.write(std::as_bytes(std::span(found[number].operations)), kBytes * static_cast<std::int64_t>(number));
  }
  execution->launch();
  execution->synchronize();
  for (std::size_t number = 0; number < found.size(); ++number) {
    counts.read(std::as_writable_bytes(std::span(found[number].operations)),
                kBytes * static_cast<std::int64_t>(number));
  }
  return found;
}

}  // namespace bench
}  // namespace heddle
