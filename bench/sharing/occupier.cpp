#include "heddle/bench/sharing/occupier.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace heddle {

const std::vector<SourceFile>& occupier_sources();  // made by heddle_embed

namespace bench {

namespace {

constexpr const char* kKernel = "heddle::bench::occupy";
constexpr std::int64_t kThreads = 1024;
constexpr std::int32_t kMicroseconds = 5000;  // of a launch

Plan plan_for(const DeviceIdentity& device, std::int64_t blocks) {
  Plan plan;
  plan.kernels = occupier_kernels();
  plan.buffers = {{"ran", 4 * blocks, Role::output}};
  plan.launches.push_back({.kernel = 0,
                           .grid = {.x = static_cast<unsigned>(blocks)},
                           .block = {.x = static_cast<unsigned>(kThreads)},
                           .shared_bytes = device.local_bytes,
                           .arguments = {BufferArgument{0, 0}, kMicroseconds}});
  return plan;
}

}  // namespace

const TemplateSource& occupier_source() {
  static const TemplateSource source = TemplateSource::own(occupier_sources());
  return source;
}

Kernels occupier_kernels() { return {kKernel}; }

Occupier::Occupier(Device& device, double share)
    : blocks_(std::max<std::int64_t>(std::llround(share * static_cast<double>(device.identity().units)), 1)) {
  Plan plan = plan_for(device.identity(), blocks_);
  const CompileOutcome code = compile_one(device, {&occupier_source(), plan.kernels});
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

}  // namespace bench
}  // namespace heddle
