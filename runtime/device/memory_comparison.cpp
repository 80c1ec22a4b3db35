#include "heddle/runtime/device/memory_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <utility>

#include "heddle/runtime/device/device_failure.hpp"

namespace heddle {

namespace {

constexpr std::int64_t kBlock = 256, kBlocksPerUnit = 8;  // as many threads as a multiprocessor has
constexpr std::int64_t kQuad = 16;                        // bytes that a thread reads at once

const Kernels& kernels() {
  static const Kernels all{KernelInstance(fmt::format("heddle::compare<{}>", kBlock))};
  return all;
}

Plan plan_for(std::int64_t bytes, std::int64_t units) {
  Plan plan;
  plan.kernels = kernels();
  plan.buffers = {{.name = "a", .bytes = bytes, .role = Role::input},
                  {.name = "b", .bytes = bytes, .role = Role::input},
                  {.name = "differ", .bytes = sizeof(std::int32_t), .role = Role::state}};
  const std::int64_t share = kQuad * kBlock;
  const std::int64_t blocks = std::clamp<std::int64_t>((bytes + share - 1) / share, 1, units * kBlocksPerUnit);
  Launch launch;
  launch.grid.x = static_cast<unsigned>(blocks);
  launch.block.x = static_cast<unsigned>(kBlock);
  launch.arguments = {BufferArgument{.buffer = 0}, BufferArgument{.buffer = 1}, std::int64_t{0}, std::int64_t{0},
                      BufferArgument{.buffer = 2}};
  plan.launches.push_back(std::move(launch));
  plan.samples = 1;
  return plan;
}

bool begins_at_quad(const void* address) { return std::bit_cast<std::uintptr_t>(address) % kQuad == 0; }

}  // namespace

MemoryComparison::MemoryComparison(Device& device)
    : device_(device),
      source_("heddle/kernels/common/comparison.cuh"),
      compiling_(device.compile({{.source = &source_, .kernels = kernels()}})) {}

void MemoryComparison::get_ready() {
  if (!compiling_) return;
  binary_ = compiling_->next().value().second.binary;
  compiling_.reset();
  if (!binary_) throw DeviceFailure(Status::compilation, "the comparison of memory was not compiled");
  differ_ = device_.allocate(sizeof(std::int32_t));
  static_cast<void>(device_.load(plan_for(kQuad, device_.identity().units), binary_));
}

bool MemoryComparison::same(Memory& a, Memory& b) const {
  std::int64_t bytes = a.bytes();
  if (bytes != b.bytes()) return false;
  if (bytes == 0) return true;
  void *from = a.pointer(), *with = b.pointer(), *to = differ_->pointer();
  std::int64_t quads = begins_at_quad(from) && begins_at_quad(with) ? bytes / kQuad : 0;
  const std::array<void*, 5> values{&from, &with, &bytes, &quads, &to};
  differ_->fill(std::byte{0});
  device_.load(plan_for(bytes, device_.identity().units), binary_)->launch(values.data(), std::nullopt);
  std::int32_t differ = 0;
  differ_->read(std::as_writable_bytes(std::span(&differ, 1)));
  return differ == 0;
}

}  // namespace heddle
