// The kernels of bench/ compile; needs NVRTC and no GPU.
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "bench/card.hpp"
#include "heddle/bench/common/template_variants.hpp"
#include "heddle/bench/fuzzy/containment.hpp"
#include "heddle/bench/sharing/occupier.hpp"
#include "heddle/bench/step/limits.hpp"
#include "heddle/kernels/replaced_templates.hpp"
#include "heddle/kernels/sonfin/train.hpp"
#include "heddle/runtime/device/cuda/cuda_compiler.hpp"
#include "runtime/device/nvrtc_or_skip.hpp"

namespace heddle::bench {
namespace {

TEST_CASE("kernels refuse fast mathematics and flushed denormals where numbers are rounded outwards") {
  const auto nvrtc = test::nvrtc_or_skip();
  if (!nvrtc) return;
  const CudaCompiler compiler(nvrtc, "9.0", std::make_shared<CompileCache>(std::string()), 1);
  const auto refused = [&](const CompileOptions& options, const char* why) {
    const TemplateSource source(containment_source().files(), options);
    const std::vector<CompileRequest> requests{{&source, containment_kernels()}};
    const auto done = compiler.compile(requests)->next();
    REQUIRE(done);
    CHECK(done->second.binary == nullptr);
    CHECK(done->second.log.find(why) != std::string::npos);
  };
  CompileOptions fast = containment_source().options(), flushed = fast;
  fast.extra.emplace_back("--use_fast_math");
  flushed.flush_denormals = true;
  refused(fast, "without -ffast-math");
  refused(flushed, "without --ftz=true");
}

TEST_CASE("the kernels that measure limits and hold multiprocessors compile for old and new architectures") {
  const auto nvrtc = test::nvrtc_or_skip();
  if (!nvrtc) return;
  for (const char* architecture : {"7.5", "9.0"}) {
    DeviceIdentity device{.backend = "cuda", .name = "test", .architecture = architecture};
    const CudaCompiler compiler(nvrtc, architecture, std::make_shared<CompileCache>(std::string()), 1);
    const std::vector<CompileRequest> requests{{&limits_source(), limits_kernels(device)},
                                               {&occupier_source(), occupier_kernels()},
                                               {&containment_source(), containment_kernels()}};
    const auto batch = compiler.compile(requests);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const auto done = batch->next();
      REQUIRE(done);
      INFO(done->second.log);
      CHECK(done->second.binary != nullptr);
    }
  }
}

TEST_CASE("variants of the kernels of GPU-FNN whose cost is measured compile") {
  const auto nvrtc = test::nvrtc_or_skip();
  if (!nvrtc) return;
  const KernelFamily& family = sonfin::train_family();
  const Problem problem = sonfin::problem(1024, 64, 1);
  const auto named = family.named_configurations(kCard);
  const auto published = std::ranges::find(named, "gpu-fnn", &NamedConfiguration::name);
  REQUIRE(published != named.end());
  const Kernels kernels = family.kernels(published->configuration(problem).value(), problem, kCard);
  const CudaCompiler compiler(nvrtc, "9.0", std::make_shared<CompileCache>(std::string()), 1);
  for (const TemplateVariant& variant : read_template_variants(HEDDLE_VARIANTS)) {
    CAPTURE(variant.name);
    const ReplacedTemplates replaced(family, "cuda", variant.replacements);
    const auto done = compiler.compile({{&replaced.source("cuda"), kernels}})->next();
    REQUIRE(done);
    INFO(done->second.log);
    CHECK(done->second.binary != nullptr);
  }
}

}  // namespace
}  // namespace heddle::bench
