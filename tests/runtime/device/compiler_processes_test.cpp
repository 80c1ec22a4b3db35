#include "heddle/runtime/device/cuda/compiler_processes.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "heddle/runtime/device/cuda/cuda_compiler.hpp"
#include "runtime/device/nvrtc_or_skip.hpp"
#include "temporary_folder.hpp"

namespace heddle {
namespace {

const TemplateSource& macro_source() {
  static const TemplateSource source(std::vector<SourceFile>{
      {"test/scale.cuh",
       "#include \"test/factor.cuh\"\n"
       "static_assert(COUNT > 0, \"counts something\");\n"
       "__global__ void scale(float* values) { values[threadIdx.x] *= factor(COUNT); }\n"},
      {"test/factor.cuh", "__device__ float factor(int count) { return 1.0f / static_cast<float>(count); }\n"}});
  return source;
}

CompileRequest scale(int count) {
  return {.source = &macro_source(), .kernels = {KernelInstance("scale", {{"COUNT", std::to_string(count)}})}};
}

std::vector<CompileOutcome> compile(const std::shared_ptr<const Nvrtc>& nvrtc, const Compiling& compiling,
                                    const std::vector<CompileRequest>& requests) {
  const CudaCompiler compiler(nvrtc, "8.0", std::make_shared<CompileCache>(std::filesystem::path()), 2, compiling);
  const auto batch = compiler.compile(requests);
  std::vector<CompileOutcome> outcomes(requests.size());
  while (auto done = batch->next()) outcomes[done->first] = std::move(done->second);
  return outcomes;
}

const std::string& image(const CompileOutcome& outcome) {
  REQUIRE_MESSAGE(outcome.binary != nullptr, outcome.log);
  return dynamic_cast<const CudaBinary&>(*outcome.binary).kernels().front().blob->bytes;
}

Compiling by(std::vector<std::string> words) {
  words.insert(words.begin(), HEDDLE_COMPILER_PROGRAM);
  return {.seconds = 60.0, .command = std::move(words)};
}

TEST_CASE("compiler processes: the same code, and the same complaints, as NVRTC in this process") {
  const auto nvrtc = test::nvrtc_or_skip();
  if (!nvrtc) return;
  const std::vector<CompileRequest> requests{scale(1), scale(0), scale(2), scale(3), scale(4)};
  const auto here = compile(nvrtc, {}, requests), there = compile(nvrtc, by({}), requests);
  std::set<std::string> images;
  for (const std::size_t good : {0U, 2U, 3U, 4U}) {
    CHECK(image(here[good]) == image(there[good]));
    CHECK(images.insert(image(there[good])).second);
  }
  CHECK(here[1].log == there[1].log);
  CHECK(there[1].log.find("counts something") != std::string::npos);
}

TEST_CASE("compiler processes: a compiler that crashes fails its program, and another one is started") {
  const auto nvrtc = test::nvrtc_or_skip();
  if (!nvrtc) return;
  const auto outcomes = compile(nvrtc, by({"crash"}), {scale(1), scale(2), scale(3)});
  for (const CompileOutcome& outcome : outcomes) {
    CHECK(outcome.binary == nullptr);
    CHECK(outcome.log == "error: the compiler ended with signal 6");
  }
  const TemporaryFolder folder;
  const auto again = compile(nvrtc, by({"once", (folder.path() / "crashed").string()}), {scale(1), scale(2), scale(3)});
  for (const CompileOutcome& outcome : again) CHECK(!image(outcome).empty());
  CHECK(std::filesystem::exists(folder.path() / "crashed"));
}

TEST_CASE("compiler processes: a compiler that takes too long fails its program") {
  const auto nvrtc = test::nvrtc_or_skip();
  if (!nvrtc) return;
  Compiling hanging = by({"hang"});
  hanging.seconds = 0.2;
  const auto outcomes = compile(nvrtc, hanging, {scale(1)});
  CHECK(outcomes[0].binary == nullptr);
  CHECK(outcomes[0].log == "error: the compiler did not end within 0.2 s");
}

TEST_CASE("compiler processes: who drops a batch does not wait for its compilers") {
  const auto nvrtc = test::nvrtc_or_skip();
  if (!nvrtc) return;
  const CudaCompiler compiler(nvrtc, "8.0", std::make_shared<CompileCache>(std::filesystem::path()), 2, by({"hang"}));
  auto batch = compiler.compile({scale(1), scale(2), scale(3)});
  int asked = 0;
  CHECK_THROWS_AS(static_cast<void>(batch->next([&] { return ++asked > 5; })), Interrupted);
  batch.reset();  // the limit of these compilers is a minute each
}

TEST_CASE("compiler processes: a program that cannot be started is one clear line") {
  const auto nvrtc = test::nvrtc_or_skip();
  if (!nvrtc) return;
  const auto outcomes = compile(nvrtc, {.seconds = 60.0, .command = {"/nonexistent/compiler"}}, {scale(1)});
  CHECK(outcomes[0].binary == nullptr);
  CHECK(outcomes[0].log == "error: the compiler: cannot start /nonexistent/compiler: No such file or directory");
}

}  // namespace
}  // namespace heddle
