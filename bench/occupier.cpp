#include "occupier.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace heddle::bench {

namespace {

constexpr std::int64_t kThreads = 1024;
constexpr std::int32_t kMicroseconds = 5000;  // of a launch

const TemplateSource& source() {
  static const TemplateSource source(std::vector<SourceFile>{{"bench/occupier.cuh", R"(
__device__ unsigned long long nanoseconds() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}
// Each block leaves word that it ran.
__global__ void __launch_bounds__(1024) occupy(int* ran, int microseconds) {
  const unsigned long long start = nanoseconds();
  while (nanoseconds() - start < 1000ull * microseconds) {
  }
  if (threadIdx.x == 0) ran[blockIdx.x] = 1;
}
)"}});
  return source;
}

Plan plan_for(const DeviceIdentity& device, std::int64_t blocks) {
  Plan plan;
  plan.kernels = {"occupy"};
  plan.buffers = {{"ran", 4 * blocks, Role::output}};
  plan.launches.push_back({.kernel = 0,
                           .grid = {.x = static_cast<unsigned>(blocks)},
                           .block = {.x = static_cast<unsigned>(kThreads)},
                           .shared_bytes = device.local_bytes,
                           .arguments = {BufferArgument{0, 0}, kMicroseconds}});
  return plan;
}

}  // namespace

Occupier::Occupier(Device& device, double share)
    : blocks_(std::max<std::int64_t>(std::llround(share * static_cast<double>(device.identity().units)), 1)) {
  Plan plan = plan_for(device.identity(), blocks_);
  const CompileOutcome code = compile_one(device, {&source(), plan.kernels});
  execution_ = device.prepare(std::move(plan), code.binary);
  execution_->launch();
  execution_->synchronize();
  thread_ = std::thread([this] {
    try {
      while (!stopped_) {
        // The second waits on the device while the first runs: nobody gets in between.
        for (int i = 0; i < 2; ++i) execution_->launch();
        execution_->synchronize();
        launches_ += 2;
      }
    } catch (const DeviceFailure& failure) {
      failure_ = failure.what();
    }
  });
}

Occupier::~Occupier() {
  stopped_ = true;
  if (thread_.joinable()) thread_.join();
}

void Occupier::stop() {
  stopped_ = true;
  if (thread_.joinable()) thread_.join();
  if (!failure_.empty()) throw DeviceFailure(Status::launch, failure_);
}

}  // namespace heddle::bench
