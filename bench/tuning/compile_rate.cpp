// How many instantiations of the real CUDA templates NVRTC compiles per second, cold. Needs no GPU.
//
//   compile_rate [architecture 9.0] [instantiations 256] [threads: one per core] [seed 1]
//
// The sample is drawn as a tuner would ask for it: configurations of random problems of every family's default grid.
// Each kernel counts once, however many configurations share it. Prints one JSON document.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "heddle/bench/common/program.hpp"
#include "heddle/bench/common/stopwatch.hpp"
#include "heddle/kernels/family_registry.hpp"
#include "heddle/runtime/device/cuda/cuda_compiler.hpp"

namespace {

using namespace heddle;

std::vector<CompileRequest> sample(const DeviceIdentity& device, std::size_t count, unsigned seed) {
  constexpr std::size_t kPerProblem = 8;
  std::mt19937 generator(seed);
  std::vector<CompileRequest> requests;
  std::set<std::pair<const KernelFamily*, KernelInstance>> seen;
  for (std::size_t round = 0; requests.size() < count && round < count; ++round) {
    for (const auto& family : builtin_families().all()) {
      if (!family->supports(device.backend)) continue;
      const std::vector<Problem> problems = family->default_problems(device);
      const Problem& problem = problems[generator() % problems.size()];
      const std::vector<Configuration> configurations = family->space(device).enumerate(problem);
      for (std::size_t i = 0; i < kPerProblem; ++i) {
        const Configuration& configuration = configurations[generator() % configurations.size()];
        for (const KernelInstance& kernel : family->kernels(configuration, problem, device))
          if (requests.size() < count && seen.emplace(family.get(), kernel).second)
            requests.push_back({&family->source(device.backend), {kernel}});
      }
    }
  }
  return requests;
}

void run(const std::string& architecture, std::size_t count, unsigned threads, unsigned seed) {
  DeviceIdentity device{"cuda", "any", architecture, 132, 141, 50 << 20, 227 << 10};
  const auto nvrtc = Nvrtc::open(device.compute_capability());
  const CudaCompiler compiler(nvrtc, architecture, std::make_shared<CompileCache>(std::string()), threads);
  const std::vector<CompileRequest> requests = sample(device, count, seed);

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
      "{{\"compiler\": \"{}\", \"architecture\": \"{}\", \"threads\": {}, \"seed\": {}, \"instantiations\": {}, "
      "\"failed\": {}, \"programs\": {}, \"first_result_seconds\": {:.3f}, \"seconds\": {:.3f}, "
      "\"instantiations_per_second\": {:.1f}}}\n",
      nvrtc->name(), architecture, threads, seed, requests.size(), failed, compiler.calls(), first, seconds,
      static_cast<double>(requests.size()) / seconds);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::exit_code("compile_rate", [&] {
    const std::vector<std::string> words(argv + 1, argv + argc);
    const auto number = [&](std::size_t at, unsigned otherwise) {
      return words.size() > at ? static_cast<unsigned>(std::stoul(words[at])) : otherwise;
    };
    run(words.empty() ? "9.0" : words[0], number(1, 256), number(2, std::max(1U, std::thread::hardware_concurrency())),
        number(3, 1));
    return 0;
  });
}
