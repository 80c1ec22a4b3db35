// A kernel of the tests' own, as a program would define one: z = a x + y.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "heddle/kernels/kernel_version.hpp"
#include "heddle/kernels/own/kernel_definition.hpp"
#include "heddle/profiles/measurement.hpp"

namespace heddle::test {

inline constexpr const char* kAddForCuda = R"(
namespace own {
/// z[i] = a x[i] + y[i]; block_size * items elements for a block.
template <int BlockSize, int Items>
__global__ void add(float a, const float* x, const float* y, float* z, int n) {
  const int first = static_cast<int>(blockIdx.x) * BlockSize * Items + static_cast<int>(threadIdx.x);
  for (int item = 0; item < Items; ++item) {
    const int i = first + item * BlockSize;
    if (i < n) z[i] = a * x[i] + y[i];
  }
}
}  // namespace own
)";

inline constexpr const char* kAddForCpu = R"(
#include "heddle/kernels/common/cpu_launch.hpp"
namespace own {
template <int Parts, int Items>
void add(const heddle::cpu::LaunchContext& context, void* const* at) {
  const float a = *static_cast<const float*>(at[0]);
  const float* const x = static_cast<const float*>(at[1]);
  const float* const y = static_cast<const float*>(at[2]);
  float* const z = static_cast<float*>(at[3]);
  const int n = *static_cast<const int*>(at[4]);
  const int chunk = (n + Parts - 1) / Parts;
  for (int part = context.thread; part < Parts; part += context.threads) {
    const int end = (part + 1) * chunk < n ? (part + 1) * chunk : n;
    for (int i = part * chunk; i < end; i += Items) {
      for (int item = i; item < i + Items && item < end; ++item) z[item] = a * x[item] + y[item];
    }
  }
}
}  // namespace own
)";

[[nodiscard]] inline KernelDefinition add_kernel() {
  KernelDefinition kernel;
  kernel.name = "own-add";
  kernel.meaning = "z = a x + y";
  kernel.axes = {{.name = "n", .maximum = 1 << 20}};
  kernel.code["cuda"] = {.text = kAddForCuda,
                         .kernel = "own::add<{block_size}, {items}>",
                         .untuned = "block_size=32 items=1",
                         .grid = {"ceil_div(n, block_size * items)"},
                         .block = {"block_size"}};
  kernel.code["cpu"] = {
      .text = kAddForCpu, .kernel = "own::add<{parts}, {items}>", .untuned = "parts=1 items=1", .grid = {"parts"}};
  kernel.parameters = {{.name = "block_size",
                        .values = {std::int64_t{32}, std::int64_t{64}, std::int64_t{128}},
                        .meaning = "threads of a block",
                        .active = "backend != 'cpu'"},
                       {.name = "parts",
                        .values = {std::int64_t{1}, std::int64_t{2}},
                        .meaning = "of the work",
                        .active = "backend == 'cpu'"},
                       {.name = "items",
                        .values = {std::int64_t{1}, std::int64_t{2}, std::int64_t{4}, std::int64_t{8}},
                        .meaning = "elements for a thread"}};
  kernel.constraints = {"backend == 'cpu' or block_size * items <= 256"};
  kernel.arguments = {{.name = "a", .type = ElementType::float32, .value = "2.5"},
                      {.name = "x", .elements = "n"},
                      {.name = "y", .elements = "n"},
                      {.name = "z", .elements = "n", .role = Role::output},
                      {.name = "n", .type = ElementType::int32, .value = "n"}};
  return kernel;
}

[[nodiscard]] inline Profile profile_of(const KernelFamily& family, const DeviceIdentity& device,
                                        const Problem& problem, const std::string& configuration) {
  Profile profile;
  profile.key = {.device = device, .family = std::string(family.name()), .problem = problem};
  profile.kernels = kernel_version(family, device);
  profile.configuration = configuration;
  profile.time = 1.0;
  profile.samples = 1;
  return profile;
}

}  // namespace heddle::test
