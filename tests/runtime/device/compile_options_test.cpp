// What a template's compile options do to its kernels, on the CPU and on the emulator. NVRTC: cuda_compiler_test.cpp.
#include "heddle/kernels/compile_options.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "heddle/kernels/common/options.hpp"
#include "heddle/kernels/sonfin/train.hpp"
#include "heddle/runtime/device/cpu/cpu_device.hpp"
#include "heddle/runtime/device/emulator/emulator_device.hpp"
#include "runtime/device/compiling_cpu.hpp"
#include "runtime/device/environment_variable.hpp"
#include "skip.hpp"
#include "temporary_folder.hpp"

namespace heddle {
namespace {

constexpr int kNumbers = 256;

constexpr const char* kRoundingOnCpu = R"(
namespace heddle::cpu {
struct LaunchContext { int thread; int threads; };
}
namespace test {
void round_off(const heddle::cpu::LaunchContext&, void* const* arguments) {
  const float* in = static_cast<const float*>(arguments[0]);
  float* out = static_cast<float*>(arguments[1]);
  for (int i = 0; i < 256; ++i) {
    out[i] = in[i] * in[i + 256] + in[i + 512];
    out[i + 256] = in[i] / 3.0f;
    out[i + 512] = in[i + 768] != in[i + 768] ? 1.0f : 0.0f;
  }
}
}
)";
constexpr const char* kRoundingOnGpu = R"(
namespace test {
__global__ void round_off(const float* in, float* out) {
  const int i = static_cast<int>(threadIdx.x);
  out[i] = in[i] * in[i + 256] + in[i + 512];
  out[i + 256] = in[i] / 3.0f;
  out[i + 512] = in[i + 768] != in[i + 768] ? 1.0f : 0.0f;
}
}
)";

/// Three numbers each: factors and a summand that is all but what the product is, so that little is left but what
/// rounding does; and a fourth, which may be no number.
std::vector<float> inputs_of_rounding() {
  std::mt19937 random(5);
  std::uniform_real_distribution<float> uniform(1.0F, 2.0F);
  std::vector<float> in(4 * std::size_t{kNumbers});
  for (std::size_t i = 0; i < kNumbers; ++i) {
    in[i] = uniform(random);
    in[i + kNumbers] = uniform(random);
    in[i + 2 * kNumbers] = -(in[i] * in[i + kNumbers]);
    in[i + 3 * kNumbers] = i % 2 == 0 ? std::numeric_limits<float>::quiet_NaN() : in[i];
  }
  return in;
}

struct Rounding {
  std::size_t rounded_twice = 0;    ///< products with sums
  std::size_t rounded_once = 0;     ///< ... which is something else for most numbers
  std::size_t exact_quotients = 0;  ///< as IEEE 754 rounds them
  std::size_t nan_found = 0;
};

Rounding rounding_of(Device& device, const char* text, const CompileOptions& options) {
  const TemplateSource source(std::vector<SourceFile>{{"test/rounding.hpp", text}}, options);
  Plan plan;
  plan.kernels = {"test::round_off"};
  plan.buffers = {{"in", 16 * kNumbers, Role::input}, {"out", 12 * kNumbers, Role::output}};
  plan.launches = {{.kernel = 0,
                    .grid = {},
                    .block = {.x = device.identity().backend == "cpu" ? 1U : unsigned{kNumbers}},
                    .arguments = {BufferArgument{0, 0}, BufferArgument{1, 0}}}};
  auto binary = compile_one(device, {&source, plan.kernels}).binary;
  const auto execution = device.prepare(std::move(plan), std::move(binary));
  const std::vector<float> in = inputs_of_rounding();
  execution->memory("in").write(std::as_bytes(std::span(in)));
  execution->launch();
  execution->synchronize();
  std::vector<float> out(3 * std::size_t{kNumbers});
  execution->memory("out").read(std::as_writable_bytes(std::span(out)));
  Rounding found;
  for (std::size_t i = 0; i < kNumbers; ++i) {
    const volatile float product = in[i] * in[i + kNumbers];  // rounded before the sum
    found.rounded_twice += out[i] == product + in[i + 2 * kNumbers] ? 1 : 0;
    found.rounded_once += out[i] == std::fma(in[i], in[i + kNumbers], in[i + 2 * kNumbers]) ? 1 : 0;
    found.exact_quotients += out[i + kNumbers] == in[i] / 3.0F ? 1 : 0;
    found.nan_found += out[i + 2 * kNumbers] == (i % 2 == 0 ? 1.0F : 0.0F) ? 1 : 0;
  }
  return found;
}

bool cpu_has_fma() {
  const std::string architecture = open_cpu_device()->identity().architecture;
  return architecture == "x86-64-v3" || architecture == "x86-64-v4" || architecture == "aarch64";
}

TEST_CASE("the text of compile options tells any two apart") {
  const std::vector<CompileOptions> all{{},
                                        {.fast_math = true},
                                        {.flush_denormals = true},
                                        {.contraction = false},
                                        {.standard = LanguageLevel::cpp20},
                                        {.extra = {"-a"}},
                                        {.extra = {"-a", "-b"}},
                                        {.extra = {"-a -b"}},
                                        {.extra = {"-a 2:-b"}},
                                        {.extra = {""}}};
  for (const CompileOptions& one : all) {
    for (const CompileOptions& other : all) CHECK((one.text() == other.text()) == (one == other));
  }
}

TEST_CASE("cpu: contraction and fast mathematics are what the template allows") {
  const test::CompilingCpu cpu;
  Device* const device = cpu.device_or_skip();
  if (device == nullptr) return;
  const Rounding strict = rounding_of(*device, kRoundingOnCpu, {.contraction = false});
  CHECK(strict.rounded_twice == kNumbers);
  CHECK(strict.rounded_once < kNumbers / 2);
  CHECK(strict.exact_quotients == kNumbers);
  CHECK(strict.nan_found == kNumbers);
  const std::int64_t calls = device->compiler_calls();

  const Rounding usual = rounding_of(*device, kRoundingOnCpu, {});
  CHECK(device->compiler_calls() > calls);  // the same source, but the cache has no kernel with these options
  CHECK(usual.exact_quotients == kNumbers);
  if (cpu_has_fma()) CHECK(usual.rounded_once == kNumbers);

  const Rounding fast = rounding_of(*device, kRoundingOnCpu, {.fast_math = true});
  CHECK(fast.exact_quotients < kNumbers);
  CHECK(fast.nan_found == kNumbers);
  // Each for itself.
  CHECK(rounding_of(*device, kRoundingOnCpu, {.fast_math = true, .contraction = false}).rounded_twice == kNumbers);
  const Rounding extra = rounding_of(*device, kRoundingOnCpu, {.extra = {"-ffp-contract=off"}});
  CHECK(extra.rounded_twice == kNumbers);

  const std::int64_t known = device->compiler_calls();
  CHECK(rounding_of(*device, kRoundingOnCpu, {.contraction = false}).rounded_twice == kNumbers);
  CHECK(device->compiler_calls() == known);
}

TEST_CASE("cpu: a kernel is built in with the options it was built with alone") {
  const TemporaryFolder folder;
  const Variable cache("XDG_CACHE_HOME", folder.path().string());
  const Variable compiler("CXX", "no-such-compiler");
  const auto device = open_cpu_device();
  const KernelFamily& family = sonfin::train_family();
  const Problem problem = family.awkward_problem();
  const auto kernels =
      family.kernels(family.default_configuration(device->identity(), problem), problem, device->identity());
  const std::string_view name = family.source("cpu").main().name;
  CHECK(family.source("cpu").options() == cpu_builtin_options());
  const TemplateSource same(name, cpu_builtin_options());
  CHECK(compile_one(*device, {&same, kernels}).binary != nullptr);
  CompileOptions other = cpu_builtin_options();
  other.contraction = false;
  const TemplateSource strict(name, other);
  CHECK(strict.hash() == same.hash());
  CHECK_THROWS_AS(static_cast<void>(compile_one(*device, {&strict, kernels})), DeviceFailure);
}

TEST_CASE("emulator: contraction and fast mathematics are what the template allows") {
  const TemporaryFolder folder;
  const Variable cache("XDG_CACHE_HOME", folder.path().string());
  const auto device = open_emulator({});
  const Rounding usual = rounding_of(*device, kRoundingOnGpu, {});
  CHECK(usual.exact_quotients == kNumbers);
  CHECK(usual.nan_found == kNumbers);
  const Rounding fast = rounding_of(*device, kRoundingOnGpu, {.fast_math = true});
  CHECK(fast.exact_quotients < kNumbers);
  CHECK(fast.nan_found == kNumbers);
  if (!cpu_has_fma()) {
    test::skip("a processor without fused multiply-add");
    return;
  }
#if defined(__x86_64__)
  const std::vector<std::string> with_fma{"-O2", "-mfma"};  // what the emulator compiles with has neither
#else
  const std::vector<std::string> with_fma{"-O2"};
#endif
  CHECK(rounding_of(*device, kRoundingOnGpu, {.extra = with_fma}).rounded_once == kNumbers);
  const Rounding strict = rounding_of(*device, kRoundingOnGpu, {.contraction = false, .extra = with_fma});
  CHECK(strict.rounded_twice == kNumbers);
  CHECK(strict.rounded_once < kNumbers / 2);
}

}  // namespace
}  // namespace heddle
