// The kernel that memory-bound kernels are compared with.
#pragma once

#include <cstdint>

#include "heddle/kernels/own/kernel_definition.hpp"

namespace heddle::bench {

/// Reads and writes as many packets of 16 bytes.
[[nodiscard]] inline KernelDefinition copy_definition(std::int64_t packets) {
  KernelDefinition kernel;
  kernel.name = "plain-copy";
  kernel.axes = {{.name = "packets", .maximum = std::int64_t{1} << 32U}};
  kernel.problems = {Problem::from(kernel.axes, {packets})};
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
  return kernel;
}

}  // namespace heddle::bench
