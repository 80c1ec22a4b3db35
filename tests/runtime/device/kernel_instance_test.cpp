// Entry points with definitions, compiled and run on the CPU and on the emulator. NVRTC: cuda_compiler_test.cpp.
#include "heddle/kernels/kernel_instance.hpp"

#include <doctest/doctest.h>

#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "heddle/runtime/device/emulator/emulator_device.hpp"
#include "runtime/device/compiling_cpu.hpp"
#include "runtime/device/environment_variable.hpp"
#include "temporary_folder.hpp"

namespace heddle {
namespace {

constexpr std::size_t kScaled = 32;

const TemplateSource& scale_of(const std::string& backend) {
  static const TemplateSource on_cpu(std::vector<SourceFile>{{"test/scale.hpp", R"(
namespace heddle::cpu {
struct LaunchContext { int thread; int threads; };
}
#ifdef FACTOR
void scale(const heddle::cpu::LaunchContext&, void* const* arguments) {
  for (int i = 0; i < 32; ++i) static_cast<TYPE*>(arguments[0])[i] *= FACTOR;
}
#endif
template <int By>
void scale_by(const heddle::cpu::LaunchContext&, void* const* arguments) {
  for (int i = 0; i < 32; ++i) static_cast<int*>(arguments[0])[i] *= By;
}
)"}});
  static const TemplateSource on_gpu(std::vector<SourceFile>{{"test/scale.cuh", R"(
#ifdef FACTOR
extern "C" __global__ void scale(TYPE* values) { values[threadIdx.x] *= FACTOR; }
#endif
template <int By>
__global__ void scale_by(int* values) { values[threadIdx.x] *= By; }
)"}});
  return backend == "cpu" ? on_cpu : on_gpu;
}

/// Kernels of three kinds in one plan; definitions with a space, and two that differ in the value alone.
void check_entry_points(Device& device) {
  const TemplateSource& source = scale_of(device.identity().backend);
  Plan plan;
  plan.kernels = {KernelInstance("scale", {{"TYPE", "int"}, {"FACTOR", "3"}}),
                  KernelInstance("scale", {{"TYPE", "int"}, {"FACTOR", "(2 + 3)"}}), KernelInstance("scale_by<7>"),
                  KernelInstance("scale", {{"TYPE", "unsigned int"}, {"FACTOR", "0"}})};
  plan.buffers = {{"values", 4 * kScaled, Role::state}, {"others", 4 * kScaled, Role::state}};
  const unsigned threads = device.identity().backend == "cpu" ? 1 : unsigned{kScaled};
  plan.launches.reserve(5);
  for (const int kernel : {0, 1, 2, 3, 0}) {
    plan.launches.push_back(
        {.kernel = kernel, .grid = {}, .block = {.x = threads}, .arguments = {BufferArgument{kernel == 3 ? 1 : 0, 0}}});
  }
  const Kernels kernels = plan.kernels;
  const CompileOutcome outcome = compile_one(device, {&source, kernels});
  const auto execution = device.prepare(std::move(plan), outcome.binary);
  std::array<int, kScaled> values{};
  std::array<unsigned, kScaled> others{};
  values.fill(1);
  others.fill(9);
  execution->memory("values").write(std::as_bytes(std::span(values)));
  execution->memory("others").write(std::as_bytes(std::span(others)));
  execution->launch();
  execution->synchronize();
  execution->memory("values").read(std::as_writable_bytes(std::span(values)));
  execution->memory("others").read(std::as_writable_bytes(std::span(others)));
  for (const int value : values) CHECK(value == 3 * 5 * 7 * 3);
  for (const unsigned other : others) CHECK(other == 0);

  const std::int64_t calls = device.compiler_calls();
  CHECK(compile_one(device, {&source, kernels}).cached);
  CHECK(device.compiler_calls() == calls);
  CHECK_THROWS_AS(static_cast<void>(compile_one(device, {&source, {"scale"}})), DeviceFailure);
}

TEST_CASE("cpu: entry points with definitions") {
  const test::CompilingCpu cpu;
  Device* const device = cpu.device_or_skip();
  if (device == nullptr) return;
  check_entry_points(*device);
}

TEST_CASE("emulator: entry points with definitions") {
  const TemporaryFolder folder;
  const Variable cache("XDG_CACHE_HOME", folder.path().string());
  check_entry_points(*open_emulator({}));
}

}  // namespace
}  // namespace heddle
