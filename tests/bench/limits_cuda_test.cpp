// The kernels of limits.cuh compile; needs NVRTC and no GPU.
#include <doctest/doctest.h>

#include "heddle/bench/limits.hpp"
#include "heddle/runtime/device/cuda/cuda_compiler.hpp"
#include "runtime/device/nvrtc_or_skip.hpp"

namespace heddle::bench {
namespace {

TEST_CASE("the kernels that measure limits compile for old and new architectures") {
  const auto nvrtc = test::nvrtc_or_skip();
  if (!nvrtc) return;
  for (const char* architecture : {"7.5", "9.0"}) {
    DeviceIdentity device{.backend = "cuda", .name = "test", .architecture = architecture};
    const CudaCompiler compiler(nvrtc, architecture, std::make_shared<CompileCache>(std::string()), 1);
    const auto batch = compiler.compile({{&limits_source(), limits_kernels(device)}});
    const auto done = batch->next();
    REQUIRE(done);
    INFO(done->second.log);
    CHECK(done->second.binary != nullptr);
  }
}

}  // namespace
}  // namespace heddle::bench
