#include "heddle/bench/step/floor.hpp"

#include <algorithm>

#include "heddle/kernels/common/cuda_limits.hpp"

namespace heddle::bench {

namespace {

constexpr std::int64_t kRegisterBytes = cuda::kRegistersOfMultiprocessor * 4;  // of a multiprocessor

}  // namespace

Floor training_floor(const Limits& limits, const KernelFamily& family, const DeviceIdentity& device,
                     const Problem& problem) {
  const auto rules = static_cast<double>(problem.at("rules"));
  const auto dim = static_cast<double>(problem.at("dim"));
  const auto outputs = static_cast<double>(problem.at("outputs"));
  const double parameters = 8.0 * rules * dim + 4.0 * rules * outputs;  // bytes
  const Work work = family.work(problem);
  const auto units = static_cast<double>(device.units);

  const bool cached = parameters <= static_cast<double>(device.cache_bytes);
  const double moved = work.bytes / (cached ? limits.cache_bytes_per_microsecond : limits.memory_bytes_per_microsecond);
  const double arithmetic = work.operations / limits.operations_per_microsecond;
  // Between launches, or among all blocks of one: whichever is cheaper.
  double meeting = limits.node_microseconds;
  for (const Exchange& exchange : limits.exchanges) {
    if (exchange.link == "grid") meeting = std::min(meeting, exchange.microseconds);
  }
  Floor best{.microseconds = std::max(moved, arithmetic) + meeting,
             .link = "memory",
             .blocks = device.units,
             .arithmetic = arithmetic,
             .exchange = meeting};
  for (const Exchange& exchange : limits.exchanges) {
    const auto blocks = static_cast<double>(exchange.blocks);
    if (parameters > blocks * static_cast<double>(kRegisterBytes + device.local_bytes)) continue;
    const double arithmetic_of_blocks = work.operations / (limits.operations_per_microsecond * blocks / units);
    const double row = 4.0 * (dim + outputs) / limits.cache_bytes_per_microsecond;
    const double time = std::max(arithmetic_of_blocks, row) + exchange.microseconds;
    if (time < best.microseconds) {
      best = {.microseconds = time,
              .link = exchange.link,
              .blocks = exchange.blocks,
              .arithmetic = arithmetic_of_blocks,
              .exchange = exchange.microseconds};
    }
  }
  return best;
}

Floor batch_floor(const Limits& limits, const KernelFamily& family, const Problem& problem) {
  const Work work = family.work(problem);
  const double arithmetic = work.operations / limits.operations_per_microsecond;
  return {.microseconds = std::max(arithmetic, work.bytes / limits.memory_bytes_per_microsecond),
          .link = "memory",
          .blocks = 0,
          .arithmetic = arithmetic,
          .exchange = 0.0};
}

}  // namespace heddle::bench
