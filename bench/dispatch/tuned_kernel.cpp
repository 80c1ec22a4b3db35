// What TunedKernel adds to a launch: the choice for sizes that were called before, the choice for new sizes, and on a
// GPU a whole call beside cuLaunchKernel alone with the same arguments, in turns.
//
//     bench_tuned_kernel [DEVICE]     by default the best one
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <initializer_list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "heddle/bench/common/stopwatch.hpp"
#include "heddle/kernels/kernel_version.hpp"
#include "heddle/kernels/own/kernel_definition.hpp"
#include "heddle/runtime/kernel/tuned_kernel.hpp"
#include "heddle/tuner/statistics.hpp"
#ifdef HEDDLE_WITH_CUDA
#include <cuda.h>
#include <dlfcn.h>

#include "heddle/runtime/device/cuda/cuda_device.hpp"
#endif

namespace heddle {
namespace {

std::string chosen_device;  // label

/// A kernel that does nothing, so that a GPU keeps up with its host, with arguments and parameters as real ones have.
std::shared_ptr<const KernelFamily> family_with(int axes) {
  KernelDefinition kernel;
  kernel.name = "nothing";
  kernel.meaning = "does nothing";
  kernel.axes = {{.name = "n"}};
  for (int i = 1; i < axes; ++i) kernel.axes.push_back({.name = "size" + std::to_string(i)});
  kernel.code["cuda"] = {
      .text = "template <int, int> __global__ void nothing(float, const float*, const float*, float*, int) {}",
      .kernel = "nothing<{block_size}, {items}>",
      .untuned = "block_size=32 items=1",
      .grid = {"min(ceil_div(n, block_size * items), 2)"},
      .block = {"block_size"}};
  kernel.code["cpu"] = {.text =
                            "#include \"heddle/kernels/common/cpu_launch.hpp\"\n"
                            "template <int, int> void nothing(const heddle::cpu::LaunchContext&, void* const*) {}",
                        .kernel = "nothing<{block_size}, {items}>",
                        .untuned = "block_size=32 items=1"};
  const auto numbers = [](std::initializer_list<std::int64_t> list) {
    return std::vector<Value>(list.begin(), list.end());
  };
  kernel.parameters = {{.name = "block_size", .values = numbers({32, 64, 128})},
                       {.name = "items", .values = numbers({1, 2, 4, 8})}};
  kernel.constraints = {"block_size * items <= 512"};
  kernel.arguments = {{.name = "a", .type = ElementType::float32, .value = "2.5"},
                      {.name = "x", .elements = "n"},
                      {.name = "y", .elements = "n"},
                      {.name = "z", .elements = "n", .role = Role::output},
                      {.name = "n", .type = ElementType::int32, .value = "n"}};
  return make_defined_family(describe(kernel).text);
}

/// Profiles at sizes that are spread over the range, with all configurations in turn.
std::vector<Profile> profiles(const KernelFamily& family, const DeviceIdentity& device, std::size_t count) {
  const Problem any = family.awkward_problem();
  const auto configurations = family.space(device).enumerate(any);
  std::vector<Profile> all;
  all.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    Profile& profile = all.emplace_back();
    profile.key = {.device = device,
                   .family = std::string(family.name()),
                   .problem = any.with("n", static_cast<std::int64_t>(64 + 257 * i))};
    profile.kernels = kernel_version(family, device);
    profile.configuration = configurations[i % configurations.size()].text();
    profile.time = 1.0;
  }
  return all;
}

std::vector<CallType> types() {
  return {call_type<float>(), call_type<const float*>(), call_type<const float*>(), call_type<float*>(),
          call_type<std::int32_t>()};
}

/// All kernels are compiled, so that only choosing and loading is timed.
void warm_up(CallableKernel& kernel, const std::vector<Profile>& known) {
  for (const Profile& profile : known) kernel.prepare(axis_values(profile.key.problem, kernel.family().axes()));
}

/// The argument: axes of the problem.
void hot_choice(benchmark::State& state) {
  const auto device = open_device(chosen_device);
  const auto family = family_with(static_cast<int>(state.range(0)));
  const auto known = profiles(*family, device->identity(), 64);
  CallableKernel kernel(*device, *family, known, types(), {});
  warm_up(kernel, known);
  std::vector<std::vector<AxisValue>> sizes;
  sizes.reserve(known.size());
  for (const Profile& profile : known) sizes.push_back(axis_values(profile.key.problem, family->axes()));
  std::size_t i = 0;
  while (state.KeepRunning()) benchmark::DoNotOptimize(&kernel.choice(sizes[++i % sizes.size()]));
}
BENCHMARK(hot_choice)->Arg(1)->Arg(4)->Arg(8);

/// Eight threads at one kernel at the same time: nanoseconds of a choice in the slowest of them, median of the runs.
/// Needs as many cores as threads; with fewer, threads wait for each other, and only their processor time says much.
void choice_of_eight_threads(benchmark::State& state) {
  constexpr int kThreads = 8, kChoices = 1000000;
  const auto device = open_device(chosen_device);
  const auto family = family_with(2);
  const auto known = profiles(*family, device->identity(), 64);
  CallableKernel kernel(*device, *family, known, types(), {});
  warm_up(kernel, known);
  std::vector<std::vector<AxisValue>> sizes;
  sizes.reserve(known.size());
  for (const Profile& profile : known) sizes.push_back(axis_values(profile.key.problem, family->axes()));
  const auto processor_seconds = [] {
    timespec now = {};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  };
  std::vector<double> walls, processors;
  while (state.KeepRunning()) {
    std::array<double, kThreads> wall{}, processor{};
    std::barrier together(kThreads);
    std::vector<std::jthread> threads;
    threads.reserve(kThreads);
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        together.arrive_and_wait();
        const bench::Stopwatch watch;
        const double begin = processor_seconds();
        for (int i = 0; i < kChoices; ++i) {
          benchmark::DoNotOptimize(&kernel.choice(sizes[static_cast<std::size_t>(7 * t + i) % sizes.size()]));
        }
        processor[static_cast<std::size_t>(t)] = 1e9 * (processor_seconds() - begin) / kChoices;
        wall[static_cast<std::size_t>(t)] = 1e9 * watch.seconds() / kChoices;
      });
    }
    threads.clear();  // joins
    walls.push_back(*std::max_element(wall.begin(), wall.end()));
    processors.push_back(*std::max_element(processor.begin(), processor.end()));
  }
  state.counters["choice_ns"] = median(walls);
  state.counters["processor_ns"] = median(processors);
}
BENCHMARK(choice_of_eight_threads)->Iterations(11)->Unit(benchmark::kMillisecond);

/// The argument: profiles.
void new_size(benchmark::State& state) {
  const auto device = open_device(chosen_device);
  const auto family = family_with(2);
  const auto known = profiles(*family, device->identity(), static_cast<std::size_t>(state.range(0)));
  CallableKernel kernel(*device, *family, known, types(), {});
  warm_up(kernel, known);
  std::int64_t n = 0;
  std::vector<AxisValue> sizes(2, 98);
  while (state.KeepRunning()) {
    sizes[0] = ++n;
    benchmark::DoNotOptimize(&kernel.choice(sizes));
  }
}
// A fixed count, so that no size comes twice.
BENCHMARK(new_size)->Arg(1)->Arg(16)->Arg(64)->Iterations(5000)->Unit(benchmark::kMicrosecond);

#ifdef HEDDLE_WITH_CUDA
// The driver by itself: what a program that has no heddle would call.
template <class Function>
Function driver_function(const char* name) {
  static void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  return library == nullptr ? nullptr : reinterpret_cast<Function>(::dlsym(library, name));
}

/// Median nanoseconds of a call in batches that take turns, one after the other, on a stream that is never full.
void call_beside_launch(benchmark::State& state) {
  if (!chosen_device.starts_with("cuda")) return state.SkipWithError("needs a CUDA device");
  const auto init = driver_function<decltype(&cuInit)>("cuInit");
  const auto retain = driver_function<decltype(&cuDevicePrimaryCtxRetain)>("cuDevicePrimaryCtxRetain");
  const auto set_current = driver_function<decltype(&cuCtxSetCurrent)>("cuCtxSetCurrent");
  const auto stream_create = driver_function<decltype(&cuStreamCreate)>("cuStreamCreate");
  const auto synchronize = driver_function<decltype(&cuStreamSynchronize)>("cuStreamSynchronize");
  const auto module_load = driver_function<decltype(&cuModuleLoadData)>("cuModuleLoadData");
  const auto get_function = driver_function<decltype(&cuModuleGetFunction)>("cuModuleGetFunction");
  const auto launch_kernel = driver_function<decltype(&cuLaunchKernel)>("cuLaunchKernel");
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  // The same arguments for a kernel that does nothing, so that the device keeps up with the host.
  constexpr const char* kPtx =
      ".version 7.0\n.target sm_75\n.address_size 64\n"
      ".visible .entry nothing(.param .f32 a, .param .u64 x, .param .u64 y, .param .u64 z, .param .u32 n) { ret; }\n";
  if (init(0) != CUDA_SUCCESS || retain(&context, 0) != CUDA_SUCCESS || set_current(context) != CUDA_SUCCESS ||
      stream_create(&stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS || module_load(&module, kPtx) != CUDA_SUCCESS ||
      get_function(&function, module, "nothing") != CUDA_SUCCESS) {
    return state.SkipWithError("the driver refuses");
  }

  const auto family = family_with(1);
  CudaDevice device(context, stream);
  const auto known = profiles(*family, device.identity(), 16);
  const TunedKernel<float, const float*, const float*, float*, std::int32_t> kernel(device, *family, known,
                                                                                    {.wait = true});
  const auto memory = device.allocate(4096);
  auto* z = static_cast<float*>(memory->pointer());
  const float* x = z;
  float a = 2.0F;
  std::int32_t n = 64;
  kernel({n}, a, x, x, z, n);

  constexpr int kBatch = 256, kTurns = 2001;
  const auto nanoseconds = [&](const auto& call) {
    synchronize(stream);
    const bench::Stopwatch watch;
    for (int i = 0; i < kBatch; ++i) call();
    return 1e9 * watch.seconds() / kBatch;
  };
  const auto alone = [&] {
    void* values[] = {&a, &x, &x, &z, &n};
    launch_kernel(function, 2, 1, 1, 32, 1, 1, 0, stream, values, nullptr);
  };
  const auto tuned = [&] { kernel({n}, a, x, x, z, n); };
  std::vector<double> with, without, difference;
  while (state.KeepRunning()) {
    for (int turn = 0; turn < kTurns; ++turn) {
      const bool first = turn % 2 == 0;
      const double one = first ? nanoseconds(tuned) : nanoseconds(alone);
      const double other = first ? nanoseconds(alone) : nanoseconds(tuned);
      with.push_back(first ? one : other);
      without.push_back(first ? other : one);
      difference.push_back(with.back() - without.back());
    }
  }
  state.counters["TunedKernel_ns"] = median(with);
  state.counters["cuLaunchKernel_ns"] = median(without);
  state.counters["difference_ns"] = median(difference);
}
BENCHMARK(call_beside_launch)->Iterations(1)->Unit(benchmark::kMillisecond);
#endif

}  // namespace
}  // namespace heddle

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  try {
    heddle::chosen_device = heddle::open_device(argc > 1 ? argv[1] : "")->label();
    benchmark::AddCustomContext("heddle_device", heddle::chosen_device);
    benchmark::RunSpecifiedBenchmarks();
  } catch (const heddle::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.kind());
  }
}
