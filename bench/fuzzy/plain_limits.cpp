#include "heddle/bench/fuzzy/plain_limits.hpp"

#include <string>
#include <vector>

#include "heddle/bench/common/interleave.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/kernels/family_registry.hpp"
#include "heddle/kernels/own/kernel_definition.hpp"
#include "heddle/tuner/device_evaluator.hpp"
#include "heddle/tuner/statistics.hpp"

namespace heddle::bench {
namespace {

constexpr int kLaunches = 4;  // in one timed run
constexpr std::int64_t kPacketBytes = 16, kPipeOfRound = 16;

KernelDefinition copy_definition(const LimitSizes& sizes) {
  KernelDefinition kernel;
  kernel.name = "plain-copy";
  kernel.axes = {{.name = "packets", .maximum = std::int64_t{1} << 32U}};
  kernel.problems = {Problem::from(kernel.axes, {sizes.packets})};
  kernel.parameters = {{.name = "block_size", .values = {std::int64_t{512}}}};
  kernel.arguments = {
      {.name = "from", .type = ElementType::float32, .elements = "packets", .lanes = 4},
      {.name = "to", .type = ElementType::float32, .elements = "packets", .role = Role::output, .lanes = 4},
      {.name = "packets", .type = ElementType::int64, .value = "packets"}};
  kernel.code["cuda"] = {.text = R"(
template <int block>
__global__ void copy(const float4* from, float4* to, long long packets) {
  const long long i = static_cast<long long>(blockIdx.x) * block + threadIdx.x;
  if (i < packets) to[i] = from[i];
})",
                         .kernel = "copy<{block_size}>",
                         .grid = {"(packets + block_size - 1) // block_size"},
                         .block = {"block_size"}};
  kernel.code["cpu"] = {.text = R"(
#include "heddle/kernels/common/cpu_launch.hpp"
struct Packet { float value[4]; };
template <int>
void copy(const heddle::cpu::LaunchContext& context, void* const* at) {
  if (context.thread > 0) return;
  const Packet* const from = static_cast<const Packet*>(at[0]);
  Packet* const to = static_cast<Packet*>(at[1]);
  const long long packets = *static_cast<const long long*>(at[2]);
  for (long long i = 0; i < packets; ++i) to[i] = from[i];
})",
                        .kernel = "copy<{block_size}>",
                        .grid = {"1"}};
  return kernel;
}

KernelDefinition pipe_definition(std::int64_t threads, std::int64_t rounds) {
  KernelDefinition kernel;
  kernel.name = "arithmetic-pipe";
  kernel.axes = {{.name = "threads"}, {.name = "bits", .maximum = 64, .spacing = Spacing::equal, .values = {32, 64}}};
  kernel.problems = {Problem::from(kernel.axes, {threads, 32}), Problem::from(kernel.axes, {threads, 64})};
  kernel.parameters = {{.name = "block_size", .values = {std::int64_t{256}}}};
  kernel.arguments = {{.name = "result", .type = ElementType::float64, .elements = "threads", .role = Role::output},
                      {.name = "threads", .type = ElementType::int64, .value = "threads"},
                      {.name = "rounds", .type = ElementType::int32, .value = std::to_string(rounds)}};
  kernel.code["cuda"] = {.text = R"(
__device__ float down(float a, float b) { return __fmul_rd(a, b); }
__device__ double down(double a, double b) { return __dmul_rd(a, b); }
template <int bits> struct Real { typedef double type; };
template <> struct Real<32> { typedef float type; };
template <int bits, int block>
__global__ void pipe(double* result, long long threads, int rounds) {
  typedef typename Real<bits>::type T;
  const long long i = static_cast<long long>(blockIdx.x) * block + threadIdx.x;
  T x[16];
  const T factor = T(1) - T(1e-6) * T(threadIdx.x + 1);
#pragma unroll
  for (int k = 0; k < 16; ++k) x[k] = T(1 + k);
#pragma unroll 4
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int k = 0; k < 16; ++k) x[k] = down(x[k], factor);
  }
  T sum = T(0);
#pragma unroll
  for (int k = 0; k < 16; ++k) sum += x[k];
  if (i < threads) result[i] = sum;
})",
                         .kernel = "pipe<{bits}, {block_size}>",
                         .grid = {"(threads + block_size - 1) // block_size"},
                         .block = {"block_size"}};
  kernel.code["cpu"] = {.text = R"(
#include "heddle/kernels/common/cpu_launch.hpp"
template <int bits> struct Real { typedef double type; };
template <> struct Real<32> { typedef float type; };
template <int bits, int>
void pipe(const heddle::cpu::LaunchContext& context, void* const* at) {
  typedef typename Real<bits>::type T;
  if (context.thread > 0) return;
  double* const result = static_cast<double*>(at[0]);
  const long long threads = *static_cast<const long long*>(at[1]);
  const int rounds = *static_cast<const int*>(at[2]);
  for (long long i = 0; i < threads; ++i) {
    T x[16], sum = T(0);
    const T factor = T(1) - T(1e-6) * T(i % 256 + 1);
    for (int k = 0; k < 16; ++k) x[k] = T(1 + k);
    for (int round = 0; round < rounds; ++round) {
      for (int k = 0; k < 16; ++k) x[k] *= factor;
    }
    for (int k = 0; k < 16; ++k) sum += x[k];
    result[i] = sum;
  }
})",
                        .kernel = "pipe<{bits}, {block_size}>",
                        .grid = {"1"}};
  return kernel;
}

}  // namespace

PlainLimits::Floor PlainLimits::floor_of(const Work& work, std::int64_t bits) const {
  const double moved = work.bytes / copied, computed = work.operations / operations.at(bits);
  return moved >= computed ? Floor{.microseconds = moved, .of_copy = true}
                           : Floor{.microseconds = computed, .of_copy = false};
}

PlainLimits measure_limits(Device& device, int rounds, unsigned seed, const LimitSizes& sizes) {
  FamilyRegistry families = builtin_families();
  constexpr std::int64_t kThreadsOfUnit = 2048, kTimes = 4;
  const std::int64_t threads = sizes.threads > 0 ? sizes.threads : device.identity().units * kThreadsOfUnit * kTimes;
  const KernelFamily& copy = families.add(describe(copy_definition(sizes)));
  const KernelFamily& pipe = families.add(describe(pipe_definition(threads, sizes.rounds)));
  const auto time_of = [&](const KernelFamily& family, const Problem& problem) {
    DeviceEvaluator evaluator(device, family, seed);
    const std::vector<Configuration> only{family.default_configuration(device.identity(), problem)};
    compile(evaluator, only, problem);
    const auto times = interleave(evaluator, only, problem, kLaunches, rounds);
    if (times.front().empty()) throw Error(ErrorKind::device, "what kernels are compared with cannot run");
    return median(times.front());
  };
  PlainLimits limits;
  const Problem packets = copy.default_problems(device.identity()).front();
  limits.copied = static_cast<double>(2 * kPacketBytes * sizes.packets) / time_of(copy, packets);
  for (const Problem& problem : pipe.default_problems(device.identity())) {
    const double all = static_cast<double>(threads * sizes.rounds * kPipeOfRound);
    limits.operations[problem.at("bits")] = all / time_of(pipe, problem);
  }
  return limits;
}

}  // namespace heddle::bench
