#include "heddle/runtime/device/cuda/cuda_compiler.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "heddle/kernels/usable_cores.hpp"

namespace heddle {
namespace {

/// Instantiations in one program: enough to share the cost of reading the headers, few enough for early results.
constexpr std::size_t kProgramSize = 16;

std::vector<std::string> options_for(const Nvrtc& nvrtc, const std::string& architecture) {
  DeviceIdentity identity;
  identity.backend = "cuda";
  identity.architecture = architecture;
  std::vector<std::string> options{fmt::format("--gpu-architecture=sm_{}", identity.compute_capability()),
                                   "--device-as-default-execution-space"};
  // Leaves textures and the runtime API out of what every program begins with. Known since 13.0 at the latest.
  if (nvrtc.major() >= 13) options.emplace_back("--minimal");
  return options;
}

}  // namespace

std::vector<std::string> nvrtc_words(const CompileOptions& options) {
  std::vector<std::string> words{fmt::format("--std={}", text(options.standard))};
  // Not --use_fast_math, which flushes denormals and contracts as well.
  if (options.fast_math) words.insert(words.end(), {"--prec-div=false", "--prec-sqrt=false"});
  if (options.flush_denormals) words.emplace_back("--ftz=true");
  if (!options.contraction) words.emplace_back("--fmad=false");
  words.insert(words.end(), options.extra.begin(), options.extra.end());
  return words;
}

CudaCompiler::CudaCompiler(std::shared_ptr<const Nvrtc> nvrtc, const std::string& architecture,
                           std::shared_ptr<CompileCache> cache, unsigned threads, const Compiling& compiling)
    : nvrtc_(std::move(nvrtc)),
      cache_(std::move(cache)),
      calls_(std::make_shared<std::atomic<std::int64_t>>(0)),
      options_(options_for(*nvrtc_, architecture)),
      threads_(threads != 0 ? threads : usable_cores()),
      seconds_(compiling.seconds),
      processes_(compiling.command.empty() ? nullptr
                                           : std::make_shared<CompilerProcesses>(compiling.command, *nvrtc_, threads_)),
      turnstile_(std::make_shared<Turnstile>(threads_)) {}

std::unique_ptr<CompileBatch> CudaCompiler::compile(const std::vector<CompileRequest>& requests) const {
  ProgramCompiler compiler;
  compiler.compile = [nvrtc = nvrtc_, processes = processes_, calls = calls_, options = options_](
                         const ProgramInput& input, const std::stop_token& stop) {
    ++*calls;
    std::vector<std::string> words = options;
    words.insert(words.end(), input.words.begin(), input.words.end());
    if (processes) return processes->compile(input, words, stop);
    return nvrtc->compile(input.source->files(), input.expressions, words);  // cannot be stopped
  };
  compiler.words = nvrtc_words;
  compiler.built_in = [](const TemplateSource&, const KernelInstance&) { return false; };
  compiler.binary = [](std::vector<CompiledKernel> kernels) {
    return std::make_shared<const CudaBinary>(std::move(kernels));
  };
  compiler.fingerprint = [nvrtc = nvrtc_, options = options_](const std::stop_token&) {
    std::string text = nvrtc->name();
    for (const std::string& option : options) text += ' ' + option;
    return text;
  };
  compiler.program_size = kProgramSize;
  compiler.threads = threads_;
  compiler.seconds = seconds_;
  compiler.turnstile = turnstile_;
  return start_batch(std::move(compiler), cache_, requests);
}

}  // namespace heddle
