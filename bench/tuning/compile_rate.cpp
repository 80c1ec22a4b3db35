// How many kernels NVRTC compiles per second for the tuner, cold. Needs no GPU.
//
//   compile_rate [architecture 9.0] [kernels 256] [compilers: one per core] [seed 1] [threads|processes] [KERNEL.json]
//
// The compilers are threads of this process, or processes as in a worker of the tuner. The sample is drawn as a tuner
// would ask for it: configurations of random problems of every family's default grid. With a description it is random
// configurations of that kernel: programs of one kernel each where parameters are macros. Each kernel counts once,
// however many configurations share it. Prints one JSON document.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "heddle/bench/common/program.hpp"
#include "heddle/bench/common/stopwatch.hpp"
#include "heddle/kernels/family_registry.hpp"
#include "heddle/kernels/own/kernel_file.hpp"
#include "heddle/kernels/usable_cores.hpp"
#include "heddle/runtime/device/cuda/cuda_compiler.hpp"
#include "heddle/runtime/process/child_process.hpp"

namespace {

using namespace heddle;

const std::vector<std::string> kOwnCompiler{"/proc/self/exe", "compiler"};

struct Options {
  std::string architecture = "9.0";
  std::size_t kernels = 256;
  unsigned compilers = usable_cores();
  unsigned seed = 1;
  bool processes = false;
  std::string description = {};
};

FamilyRegistry families_of(const Options& options) {
  if (options.description.empty()) return builtin_families();
  FamilyRegistry alone;
  alone.add(make_defined_family(describe(read_kernel_file(options.description)).text));
  return alone;
}

std::vector<CompileRequest> sample(const FamilyRegistry& families, const DeviceIdentity& device,
                                   const Options& options) {
  constexpr std::size_t kPerProblem = 8;
  std::mt19937 generator(options.seed);
  const auto uniform = [&] { return static_cast<double>(generator()) * 0x1p-32; };
  std::vector<CompileRequest> requests;
  std::set<std::pair<const KernelFamily*, KernelInstance>> seen;
  for (std::size_t round = 0; requests.size() < options.kernels && round < options.kernels; ++round) {
    for (const auto& family : families.all()) {
      if (!family->supports(device.backend)) continue;
      const std::vector<Problem> problems = family->default_problems(device);
      const Problem& problem = problems[generator() % problems.size()];
      const SearchSpace space = family->space(device);
      for (std::size_t i = 0; i < kPerProblem; ++i) {
        const auto configuration = space.draw(problem, uniform);
        if (!configuration) continue;
        for (const KernelInstance& kernel : family->kernels(*configuration, problem, device))
          if (requests.size() < options.kernels && seen.emplace(family.get(), kernel).second)
            requests.push_back({&family->source(device.backend), {kernel}});
      }
    }
  }
  return requests;
}

void run(const Options& options) {
  DeviceIdentity device{"cuda", "any", options.architecture, 132, 141, 50 << 20, 227 << 10};
  const auto nvrtc = Nvrtc::open(device.compute_capability());
  Compiling compiling;
  if (options.processes) compiling.command = kOwnCompiler;
  const CudaCompiler compiler(nvrtc, options.architecture, std::make_shared<CompileCache>(std::string()),
                              options.compilers, compiling);
  const FamilyRegistry families = families_of(options);
  const std::vector<CompileRequest> requests = sample(families, device, options);

  const bench::Stopwatch watch;
  const auto batch = compiler.compile(requests);
  double first = 0.0;
  std::size_t failed = 0, done = 0;
  while (const auto outcome = batch->next()) {
    if (done++ == 0) first = watch.seconds();
    if (!outcome->second.binary) ++failed;
  }
  const double seconds = watch.seconds();
  fmt::print(
      "{{\"compiler\": \"{}\", \"architecture\": \"{}\", \"{}\": {}, \"seed\": {}, \"instantiations\": {}, "
      "\"failed\": {}, \"programs\": {}, \"first_result_seconds\": {:.3f}, \"seconds\": {:.3f}, "
      "\"instantiations_per_second\": {:.1f}}}\n",
      nvrtc->name(), options.architecture, options.processes ? "processes" : "threads", options.compilers, options.seed,
      requests.size(), failed, compiler.calls(), first, seconds, static_cast<double>(requests.size()) / seconds);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::exit_code("compile_rate", [&] {
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (words == std::vector<std::string>{"compiler"}) {
      run_compiler(ChildProcess::kDescriptor);
      return 0;
    }
    Options options;
    const auto number = [&](std::size_t at, unsigned otherwise) {
      return words.size() > at ? static_cast<unsigned>(std::stoul(words[at])) : otherwise;
    };
    if (!words.empty()) options.architecture = words[0];
    options.kernels = number(1, static_cast<unsigned>(options.kernels));
    options.compilers = number(2, options.compilers);
    options.seed = number(3, options.seed);
    options.processes = words.size() > 4 && words[4] == "processes";
    if (words.size() > 5) options.description = words[5];
    run(options);
    return 0;
  });
}
