// A described kernel for tests of the program: y = 2 x.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace heddle::test {

inline constexpr const char* kDoubleSource = R"(
__global__ void twice(const float* x, float* y, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) y[i] = 2 * x[i];
}
)";

[[nodiscard]] inline nlohmann::json twice_description() {
  return nlohmann::json::parse(R"json({
    "name": "tests/twice", "source": "twice.cu", "kernel": "twice", "axes": ["n"],
    "parameters": [{"name": "block_size", "values": [32, 64, 128]}],
    "constraints": ["block_size <= n or n < 1000"],
    "grid": "ceil_div(n, block_size)", "block": "block_size",
    "arguments": [{"name": "x", "type": "float", "elements": "n"},
                  {"name": "y", "type": "float", "elements": "n", "role": "output"},
                  {"name": "n", "type": "int32", "value": "n"}]
  })json");
}

/// The command line that tunes a described kernel on the emulated device.
[[nodiscard]] inline std::vector<std::string> tune_kernel(const std::string& file, const std::string& size,
                                                          const std::string& database,
                                                          const std::string& evaluations = "2") {
  std::vector<std::string> command{"tune",   "--kernel",      file,        "--device", "emulator", "--profiles",
                                   database, "--evaluations", evaluations, "--quiet",  "--json"};
  if (!size.empty()) command.insert(command.end(), {"--size", size});
  return command;
}

}  // namespace heddle::test
