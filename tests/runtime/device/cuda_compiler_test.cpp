#include "heddle/runtime/device/cuda/cuda_compiler.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include "carving_family.hpp"
#include "heddle/kernels/family_registry.hpp"
#include "heddle/kernels/fuzzy/problem.hpp"
#include "heddle/kernels/mlp/train.hpp"
#include "heddle/kernels/sonfin/problems.hpp"
#include "heddle/kernels/sonfin/train.hpp"
#include "runtime/device/nvrtc_or_skip.hpp"
#include "sample.hpp"
#include "temporary_folder.hpp"

namespace heddle {
namespace {

const TemplateSource& small_source() {
  static const TemplateSource source(std::vector<SourceFile>{{"test/scale.cuh", R"(
#include "test/factor.cuh"
namespace test {
template <int Count>
__global__ void scale(float* values) {
  static_assert(Count > 0, "counts something");
  for (int i = 0; i < Count; ++i) values[i] *= factor(Count);
}
__global__ void touch(float* values) { values[0] = 0.0f; }
}
)"},
                                                             {"test/factor.cuh", R"(
namespace test {
__device__ float factor(int count) { return 1.0f / static_cast<float>(count); }
}
)"}});
  return source;
}

CompileRequest scale(int count) { return {&small_source(), {fmt::format("test::scale<{}>", count)}}; }

std::vector<CompileOutcome> all_of(CompileBatch& batch, std::size_t count) {
  std::vector<CompileOutcome> outcomes(count);
  std::set<std::size_t> seen;
  while (auto done = batch.next()) {
    REQUIRE(done->first < count);
    CHECK(seen.insert(done->first).second);
    outcomes[done->first] = std::move(done->second);
  }
  CHECK(seen.size() == count);
  return outcomes;
}

std::vector<CompileOutcome> compile(const CudaCompiler& compiler, const std::vector<CompileRequest>& requests) {
  return all_of(*compiler.compile(requests), requests.size());
}

const std::vector<CompiledKernel>& kernels(const CompileOutcome& outcome) {
  REQUIRE(outcome.binary != nullptr);
  return dynamic_cast<const CudaBinary&>(*outcome.binary).kernels();
}

std::shared_ptr<CompileCache> no_cache() { return std::make_shared<CompileCache>(std::filesystem::path()); }

TEST_CASE("cuda compiler: bad instantiations fail alone, with their log") {
  const auto nvrtc = test::nvrtc_or_skip();
  if (!nvrtc) return;
  const CudaCompiler compiler(nvrtc, "8.0", no_cache(), 2);
  std::vector<CompileRequest> requests;
  const std::set<int> bad{0, 7, 30};
  requests.reserve(43);
  for (int i = 0; i < 40; ++i) requests.push_back(scale(bad.contains(i) ? -i : i));
  requests.push_back({&small_source(), {"test::touch", "test::scale<3>"}});
  requests.push_back({&small_source(), {"test::scale<3>", "test::missing<1>"}});
  requests.push_back({&small_source(), {"this is no expression"}});
  const auto outcomes = compile(compiler, requests);
  for (std::size_t i = 0; i < 40; ++i) {
    CHECK((outcomes[i].binary == nullptr) == bad.contains(static_cast<int>(i)));
    if (outcomes[i].binary) {
      CHECK(kernels(outcomes[i]).at(0).symbol.find("scale") != std::string::npos);
      CHECK(kernels(outcomes[i]).at(0).blob->bytes.substr(1, 3) == "ELF");
      CHECK(outcomes[i].log.empty());
    } else {
      CHECK(outcomes[i].log.find("counts something") != std::string::npos);
    }
    CHECK_FALSE(outcomes[i].cached);
    CHECK(outcomes[i].seconds > 0.0);
  }
  CHECK(kernels(outcomes[40]).at(0).symbol.find("touch") != std::string::npos);
  CHECK(kernels(outcomes[40]).at(1).symbol == kernels(outcomes[3]).at(0).symbol);
  CHECK(outcomes[41].binary == nullptr);
  CHECK(outcomes[41].log.find("missing") != std::string::npos);
  CHECK(outcomes[42].binary == nullptr);
  CHECK_FALSE(outcomes[42].log.empty());
}

TEST_CASE("cuda compiler: the kernels that are of no family compile") {
  const auto nvrtc = test::nvrtc_or_skip();
  if (!nvrtc) return;
  const TemplateSource comparison("heddle/kernels/common/comparison.cuh");
  const TemplateSource intake("heddle/kernels/fuzzy/cuda/intake.cuh", fuzzy::compile_options());
  const CudaCompiler compiler(nvrtc, "9.0", no_cache(), 1);
  const auto outcomes =
      compile(compiler, {{&comparison, {"heddle::compare<256>"}},
                         {&intake, {"heddle::fuzzy::gather<float, 256>"}},
                         {&intake, {"heddle::fuzzy::find_fault<heddle::fuzzy::BoundsRule, float, 256>"}},
                         {&intake, {"heddle::fuzzy::find_fault<heddle::fuzzy::RadiiRule, double, 256>"}},
                         {&intake, {"heddle::fuzzy::find_fault<heddle::fuzzy::FiniteRule, double, 256>"}}});
  for (const auto& outcome : outcomes) {
    CHECK(outcome.log == "");
    CHECK(outcome.binary != nullptr);
  }
}

TEST_CASE("cuda compiler: what is in the cache needs no compiler; what is damaged is compiled again") {
  const auto nvrtc = test::nvrtc_or_skip();
  if (!nvrtc) return;
  const TemporaryFolder temporary;
  const auto fresh = [&] {
    return CudaCompiler(nvrtc, "8.6", std::make_shared<CompileCache>(temporary.path() / "cuda"), 2);
  };
  const std::vector<CompileRequest> requests{scale(1), scale(2), {&small_source(), {"test::touch", "test::scale<1>"}}};
  const CudaCompiler cold = fresh();
  const auto first = compile(cold, requests);
  CHECK(cold.calls() > 0);

  const CudaCompiler warm = fresh();
  const auto second = compile(warm, requests);
  CHECK(warm.calls() == 0);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    CHECK(second[i].cached);
    CHECK_FALSE(first[i].cached);
    CHECK(kernels(second[i]).back().symbol == kernels(first[i]).back().symbol);
    CHECK(kernels(second[i]).back().blob->bytes == kernels(first[i]).back().blob->bytes);
  }

  const CudaCompiler other(nvrtc, "8.9", std::make_shared<CompileCache>(temporary.path() / "cuda"), 2);
  CHECK_FALSE(compile(other, {scale(1)}).at(0).cached);

  for (const auto& file : std::filesystem::directory_iterator(temporary.path() / "cuda"))
    if (file.path().extension() == ".bin") std::ofstream(file.path(), std::ios::app) << "more";
  const CudaCompiler repairing = fresh();
  const auto third = compile(repairing, requests);
  CHECK(repairing.calls() > 0);
  for (std::size_t i = 0; i < requests.size(); ++i) CHECK(kernels(third[i]).back().blob->bytes.size() > 0);
  const CudaCompiler again = fresh();
  compile(again, requests);
  CHECK(again.calls() == 0);
}

TEST_CASE("cuda compiler: results come while others are compiled, and a dropped batch stops") {
  const auto nvrtc = test::nvrtc_or_skip();
  if (!nvrtc) return;
  const CudaCompiler compiler(nvrtc, "7.5", no_cache(), 2);
  std::vector<CompileRequest> requests;
  for (int i = 1; i <= 200; ++i) requests.push_back(scale(i));
  {
    const auto batch = compiler.compile(requests);
    const auto done = batch->next();
    REQUIRE(done.has_value());
    CHECK(done->second.binary != nullptr);
  }
  CHECK(compiler.calls() < 200 / 16);
  CHECK_FALSE(compiler.compile({})->next().has_value());
}

TEST_CASE("cuda compiler: a template's options decide how NVRTC rounds, and keys of the cache tell them apart") {
  const auto nvrtc = test::nvrtc_or_skip();
  if (!nvrtc) return;
  constexpr const char* kText = R"(
extern "C" __global__ void round_off(const float* in, float* out) {
  out[0] = in[0] * in[1] + in[2];
  out[1] = in[0] / in[1];
}
)";
  const auto source = [&](const CompileOptions& options) {
    return TemplateSource(std::vector<SourceFile>{{"test/rounding.cuh", kText}}, options);
  };
  const TemporaryFolder temporary;
  const CudaCompiler compiler(nvrtc, "8.0", std::make_shared<CompileCache>(temporary.path() / "cuda"), 1);
  struct Expected {
    CompileOptions options;
    bool contracted, flushed, exact;
  };
  const std::vector<Expected> all{
      {{}, true, false, true},
      {{.contraction = false}, false, false, true},
      {{.flush_denormals = true}, true, true, true},
      {{.flush_denormals = true, .contraction = false}, false, true, true},
      {{.fast_math = true, .flush_denormals = true}, true, true, false},
      {{.fast_math = true}, true, false, false},
      {{.fast_math = true, .contraction = false}, false, false, false},
      {{.extra = {"--fmad=false", "--ftz=true"}}, false, true, true},
      {{.standard = LanguageLevel::cpp20}, true, false, true},
  };
  for (const Expected& expected : all) {
    INFO(expected.options.text());
    const TemplateSource own = source(expected.options);
    std::vector<std::string> words = compiler.options();
    const std::vector<std::string> own_words = nvrtc_words(expected.options);
    words.insert(words.end(), own_words.begin(), own_words.end());
    const ProgramResult ptx = nvrtc->ptx(own.files(), {"round_off"}, words);
    REQUIRE_MESSAGE(ptx.compiled, ptx.log);
    const auto has = [&](const char* text) { return ptx.bytes.find(text) != std::string::npos; };
    CHECK(has(expected.flushed ? ".ftz.f32" : "st.global.f32"));
    CHECK(has(".ftz") == expected.flushed);
    CHECK(has("fma.rn") == expected.contracted);
    CHECK(has("mul.rn") == !expected.contracted);
    CHECK(has("div.rn") == expected.exact);
    const std::int64_t calls = compiler.calls();
    const auto outcome = compile(compiler, {{&own, {"round_off"}}}).at(0);
    CHECK_MESSAGE(outcome.binary != nullptr, outcome.log);
    CHECK(compiler.calls() == calls + 1);
    CHECK(compile(compiler, {{&own, {"round_off"}}}).at(0).cached);
  }
  // One batch, one text, two ways to round.
  const TemplateSource strict = source({.contraction = false, .extra = {"-lineinfo"}});
  const TemplateSource usual = source({.extra = {"-lineinfo"}});
  const auto outcomes = compile(compiler, {{&strict, {"round_off"}}, {&usual, {"round_off"}}});
  CHECK(kernels(outcomes[0]).at(0).blob->bytes != kernels(outcomes[1]).at(0).blob->bytes);
}

TEST_CASE("cuda compiler: an entry point with definitions") {
  const auto nvrtc = test::nvrtc_or_skip();
  if (!nvrtc) return;
  const TemplateSource source(std::vector<SourceFile>{{"test/entry.cuh", R"(
#ifndef COUNT
#error "how many?"
#endif
extern "C" __global__ void entry(TYPE* values) {
  __shared__ TYPE kept[COUNT];
  kept[threadIdx.x] = values[threadIdx.x];
  __syncthreads();
  values[threadIdx.x] = kept[COUNT - 1 - threadIdx.x];
}
)"}});
  const CudaCompiler compiler(nvrtc, "8.0", no_cache(), 1);
  const auto entry = [&](const char* count, const char* type) {
    return CompileRequest{&source, {KernelInstance("entry", {{"COUNT", count}, {"TYPE", type}})}};
  };
  const auto outcomes = compile(compiler, {entry("32", "float"),
                                           entry("64", "double"),
                                           entry("8", "unsigned char"),
                                           entry("0 - 1", "float"),
                                           {&source, {"entry"}}});
  for (const std::size_t i : {0, 1, 2}) {
    CHECK_MESSAGE(outcomes[i].binary != nullptr, outcomes[i].log);
    CHECK(kernels(outcomes[i]).at(0).symbol == "entry");
  }
  CHECK(kernels(outcomes[0]).at(0).blob->bytes != kernels(outcomes[1]).at(0).blob->bytes);
  CHECK(outcomes[3].binary == nullptr);
  CHECK(outcomes[4].log.find("how many?") != std::string::npos);
}

TEST_CASE("cuda compiler: the families' own kernels are compiled as they were when profiles were measured") {
  for (const auto& family : builtin_families().all()) {
    if (!family->supports("cuda")) continue;
    // Fuzzy numbers are rounded as it is written, and keep the smallest ones.
    const bool fuzzy = family->name().starts_with("fuzzy-");
    CHECK(nvrtc_words(family->source("cuda").options()) ==
          std::vector<std::string>{"--std=c++17", fuzzy ? "--fmad=false" : "--ftz=true"});
  }
}

/// The default and named configurations and a few of the others, for two of the family's problems. Few: kernels take a
/// good part of a second each; the seeds of the architectures add up to more.
std::set<KernelInstance> sampled_kernels(const KernelFamily& family, const DeviceIdentity& device, unsigned seed) {
  std::mt19937 generator(seed);
  std::set<KernelInstance> kernels;
  auto problems = family.default_problems(device);
  std::shuffle(problems.begin(), problems.end(), generator);
  problems.resize(std::min<std::size_t>(problems.size(), 1));
  problems.push_back(family.awkward_problem());
  for (const Problem& problem : problems) {
    std::vector<Configuration> configurations{family.default_configuration(device, problem)};
    for (const NamedConfiguration& named : family.named_configurations(device))
      if (auto configuration = named.configuration(problem)) configurations.push_back(std::move(*configuration));
    auto others = family.space(device).enumerate(problem);
    std::shuffle(others.begin(), others.end(), generator);
    others.resize(std::min<std::size_t>(others.size(), 1));
    configurations.insert(configurations.end(), others.begin(), others.end());
    for (const Configuration& configuration : configurations)
      for (KernelInstance& kernel : family.kernels(configuration, problem, device)) kernels.insert(std::move(kernel));
  }
  return kernels;
}

TEST_CASE("every CUDA template compiles for every architecture") {
  const auto nvrtc = test::nvrtc_or_skip();
  if (!nvrtc) return;
  const FamilyRegistry families = test::families_with_carving();
  auto seed = static_cast<unsigned>(test::sample_seed());
  const std::vector<const char*> architectures{"7.5", "8.0", "8.6", "8.9", "9.0", "10.0", "12.0"};
  for (const char* architecture : test::sample(architectures, 2)) {
    const bool consumer = std::string_view(architecture) == "8.6" || std::string_view(architecture) == "12.0";
    const DeviceIdentity device{"cuda", "any", architecture, 100, 24, 32 << 20, consumer ? 99 << 10 : 163 << 10};
    if (!nvrtc->supports(device.compute_capability())) {
      test::skip(fmt::format("{} does not compile for {}", nvrtc->name(), architecture));
      continue;
    }
    const CudaCompiler compiler(nvrtc, architecture, no_cache());
    std::vector<CompileRequest> requests;
    for (const auto& family : families.all()) {
      if (!family->supports("cuda")) continue;
      for (const KernelInstance& kernel : sampled_kernels(*family, device, ++seed))
        requests.push_back({&family->source("cuda"), {kernel}});
    }
    CHECK_FALSE(requests.empty());
    const auto outcomes = compile(compiler, requests);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      INFO(architecture << ": " << requests[i].kernels.front().text() << "\n" << outcomes[i].log);
      CHECK(outcomes[i].binary != nullptr);
    }
  }
}

/// No default problem is as large as those whose rules are streamed.
TEST_CASE("online steps with rules that are streamed compile for every architecture") {
  const auto nvrtc = test::nvrtc_or_skip();
  if (!nvrtc) return;
  const KernelFamily& family = sonfin::train_family();
  const Problem problem = sonfin::problem(13, 517, 3);
  const std::vector<const char*> architectures{"7.5", "8.0", "9.0", "10.0"};
  for (const char* architecture : test::sample(architectures, 1)) {
    const DeviceIdentity device{"cuda", "any", architecture, 100, 24, 32 << 20, 163 << 10};
    if (!nvrtc->supports(device.compute_capability())) continue;
    const CudaCompiler compiler(nvrtc, architecture, no_cache());
    std::vector<CompileRequest> requests;
    for (const char* shape : {"vector=4 storage=stream kept_rules=2", "vector=2 storage=stream kept_rules=1",
                              "vector=1 storage=stream kept_rules=0 rows_ahead=2 packs_ahead=8"}) {
      const Configuration configuration = family.space(device).parse(
          "scheme=grid coarsen_count=4 coarsening=rules block_size=128 threads_per_rule=64 " + std::string(shape));
      requests.push_back({&family.source("cuda"), family.kernels(configuration, problem, device)});
    }
    const auto outcomes = compile(compiler, requests);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      INFO(architecture << ": " << requests[i].kernels.front().text() << "\n" << outcomes[i].log);
      CHECK(outcomes[i].binary != nullptr);
    }
  }
}

/// No default problem has enough rows for clusters of many blocks.
TEST_CASE("perceptrons whose inputs clusters divide compile for every architecture that has clusters") {
  const auto nvrtc = test::nvrtc_or_skip();
  if (!nvrtc) return;
  const KernelFamily& family = mlp::train_family();
  const auto layers = mlp::layers(784, std::vector<std::int64_t>{25, 15}, 10);
  const std::vector<const char*> architectures{"9.0", "10.0"};
  for (const char* architecture : test::sample(architectures, 1)) {
    const DeviceIdentity device{"cuda", "any", architecture, 132, 80, 50 << 20, 227 << 10};
    if (!nvrtc->supports(device.compute_capability())) continue;
    const CudaCompiler compiler(nvrtc, architecture, no_cache());
    std::vector<CompileRequest> requests;
    for (const auto& [rows, shape] : {std::pair(10000, "blocks=128 input_parts=4 pass_rows=0"),
                                      std::pair(10000, "blocks=132 input_parts=2 pass_rows=0"),
                                      std::pair(60000, "blocks=128 input_parts=4 pass_rows=48")}) {
      const Problem problem = mlp::training_problem(layers, rows, rows, mlp::kByteBits);
      const SearchSpace space = family.space(device);
      const Configuration configuration = space.parse("scheme=cluster block_size=512 " + std::string(shape));
      CHECK_FALSE(space.violated(configuration, problem).has_value());
      requests.push_back({&family.source("cuda"), family.kernels(configuration, problem, device)});
    }
    const auto outcomes = compile(compiler, requests);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      INFO(architecture << ": " << requests[i].kernels.front().text() << "\n" << outcomes[i].log);
      CHECK(outcomes[i].binary != nullptr);
    }
  }
}

}  // namespace
}  // namespace heddle
