#include "heddle/bench/step/limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <span>

#include "heddle/bench/step/limits_sizes.cuh"
#include "heddle/kernels/common/cuda_limits.hpp"

namespace heddle {

const std::vector<SourceFile>& limits_sources();  // made by heddle_embed; limits.cuh is the first

namespace bench {

namespace {

using cuda::kWarp;
constexpr std::int64_t kMostBlocks = kWarp * kPacketsPerLane;  // of exchange_in_grid
constexpr int kRepetitions = 5;

constexpr const char* kNothing = "heddle::bench::nothing";
constexpr const char* kMultiplyAdd = "heddle::bench::multiply_add";
constexpr const char* kRead = "heddle::bench::read";
constexpr const char* kBlock = "heddle::bench::exchange_in_block<128>";
constexpr const char* kCluster = "heddle::bench::exchange_in_cluster";
constexpr const char* kGrid = "heddle::bench::exchange_in_grid";
constexpr const char* kClear = "heddle::bench::clear_packets";

std::int32_t int32(std::int64_t value) { return static_cast<std::int32_t>(value); }
Extent extent(std::int64_t x) { return {.x = static_cast<unsigned>(x)}; }

class Meter {
 public:
  explicit Meter(Device& device) : device_(device) {}

  Limits measure() {
    Limits limits;
    limits.operations_per_microsecond = operations();
    // A quarter of the cache, and many times the cache.
    const std::int64_t cache = device_.identity().cache_bytes;
    limits.cache_bytes_per_microsecond = bytes_read(cache / 4, 64);
    limits.memory_bytes_per_microsecond = bytes_read(std::max<std::int64_t>(16 * cache, 1 << 30), 1);
    limits.launch_microseconds = launches(false);
    limits.node_microseconds = launches(true);
    const auto add = [&](const char* link, std::int64_t blocks) {
      try {
        limits.exchanges.push_back(fastest_exchange(link, blocks));
      } catch (const DeviceFailure& failure) {
        if (failure.status() != Status::launch) throw;  // else there is no room for so many at once
      }
    };
    add("block", 1);
    for (const std::int64_t blocks : {2, 4, 8, 16}) {
      if (device_.identity().compute_capability() >= 90) add("cluster", blocks);
    }
    const std::int64_t most = std::min(device_.identity().units, kMostBlocks);
    for (const std::int64_t blocks : {16, 32, 64, 96, 128}) {
      if (blocks < most) add("grid", blocks);
    }
    if (most > 1) add("grid", most);
    return limits;
  }

  Exchange exchange(const std::string& link, std::int64_t blocks, std::int64_t rounds, const Polling& polling) {
    constexpr std::int64_t kBlockWarps = 4;
    Plan plan;
    plan.buffers = {{"sink", 4, Role::output}};
    Launch launch{.kernel = 0, .grid = extent(blocks), .block = extent(kWarp), .arguments = {}};
    if (link == "grid") {
      const std::int64_t packets = 2 * polling.replicas * blocks;
      plan.kernels = {kGrid, kClear};
      plan.buffers.push_back({"packets", 16 * packets, Role::scratch});
      plan.launches.push_back({.kernel = 1,
                               .grid = extent((packets + 255) / 256),
                               .block = extent(256),
                               .arguments = {BufferArgument{1, 0}, int32(packets)}});
      launch.resident = true;
      launch.arguments = {BufferArgument{1, 0}, BufferArgument{0, 0}, int32(rounds), int32(polling.replicas),
                          int32(polling.first_look)};
    } else {
      plan.kernels = {link == "block" ? kBlock : kCluster};
      if (link == "block") launch.block = extent(kWarp * kBlockWarps);
      if (link == "cluster") launch.cluster = static_cast<unsigned>(blocks);
      launch.shared_bytes = link == "block" ? 4 * 8 * kBlockWarps : 4 * (4 + 8 * blocks);
      launch.arguments = {BufferArgument{0, 0}, int32(rounds)};
    }
    plan.launches.push_back(std::move(launch));
    const double time = fastest(std::move(plan), [&](Execution& execution) {
      float agreed = 0.0F;
      execution.synchronize();
      execution.memory("sink").read(std::as_writable_bytes(std::span(&agreed, 1)));
      if (!(agreed > 0.99F && agreed < 1.01F)) {
        throw DeviceFailure(Status::wrong_result,
                            fmt::format("exchange among {} blocks of a {}: the blocks do not agree", blocks, link));
      }
    });
    return {.link = link, .blocks = blocks, .microseconds = time / static_cast<double>(rounds), .polling = polling};
  }

 private:
  Exchange fastest_exchange(const std::string& link, std::int64_t blocks) {
    constexpr std::int64_t kRounds = 4000;
    Exchange best = exchange(link, blocks, kRounds, {});
    if (link != "grid") return best;
    for (const std::int64_t replicas : {1, 2, 4, 8, 16, 32}) {
      for (const std::int64_t first_look : {0, 200, 300, 400, 500, 600, 700, 800, 1000}) {
        const Exchange other = exchange(link, blocks, kRounds, {.replicas = replicas, .first_look = first_look});
        if (other.microseconds < best.microseconds) best = other;
      }
    }
    return best;
  }

  /// Microseconds of the fastest run.
  double fastest(Plan plan, const std::function<void(Execution&)>& check = {}) {
    const auto [code, missing] = code_.try_emplace(plan.kernels);
    if (missing) code->second = compile_one(device_, {&limits_source(), plan.kernels});
    const auto execution = device_.prepare(std::move(plan), code->second.binary);
    double best = std::numeric_limits<double>::infinity();
    (void)execution->time();
    for (int i = 0; i < kRepetitions; ++i) best = std::min(best, execution->time() * 1e6);
    if (check) check(*execution);
    return best;
  }

  double operations() {
    constexpr std::int64_t kBlocks = 8, kThreads = 256, kRounds = 256;
    Plan plan;
    plan.kernels = {kMultiplyAdd};
    plan.buffers = {{"sink", 4, Role::output}};
    const std::int64_t blocks = kBlocks * device_.identity().units;
    plan.launches.push_back({.kernel = 0,
                             .grid = extent(blocks),
                             .block = extent(kThreads),
                             .arguments = {BufferArgument{0, 0}, int32(kRounds), 0.5F}});
    return 2.0 * static_cast<double>(blocks * kThreads * kRounds * kChains * kSteps) / fastest(std::move(plan));
  }

  double bytes_read(std::int64_t bytes, std::int64_t passes) {
    constexpr std::int64_t kThreads = 512;
    const std::int64_t blocks = 4 * device_.identity().units;
    const std::int64_t part = std::max<std::int64_t>(bytes / 16 / blocks / (4 * kThreads), 1) * 4 * kThreads;
    Plan plan;
    plan.kernels = {kRead};
    plan.buffers = {{"from", 16 * part * blocks, Role::scratch}, {"sink", 4, Role::output}};
    plan.launches.push_back({.kernel = 0,
                             .grid = extent(blocks),
                             .block = extent(kThreads),
                             .arguments = {BufferArgument{0, 0}, BufferArgument{1, 0}, int32(part), int32(passes)}});
    return static_cast<double>(16 * part * blocks * passes) / fastest(std::move(plan));
  }

  double launches(bool captured) {
    constexpr std::size_t kLaunches = 1000;
    Plan plan;
    plan.kernels = {kNothing};
    plan.buffers = {{"unused", 16, Role::scratch}};
    plan.launches.assign(kLaunches, {.kernel = 0, .grid = extent(1), .block = extent(kWarp), .arguments = {}});
    plan.captured = captured;
    return fastest(std::move(plan)) / static_cast<double>(kLaunches);
  }

  Device& device_;
  std::map<Kernels, CompileOutcome> code_;
};

}  // namespace

const TemplateSource& limits_source() {
  static const TemplateSource source = TemplateSource::own(limits_sources());
  return source;
}

Kernels limits_kernels(const DeviceIdentity& device) {
  Kernels all{kNothing, kMultiplyAdd, kRead, kBlock, kGrid, kClear};
  if (device.compute_capability() >= 90) all.emplace_back(kCluster);
  return all;
}

Limits measure_limits(Device& device) { return Meter(device).measure(); }

Exchange measure_exchange(Device& device, const std::string& link, std::int64_t blocks, std::int64_t rounds,
                          const Polling& polling) {
  return Meter(device).exchange(link, blocks, rounds, polling);
}

}  // namespace bench
}  // namespace heddle
