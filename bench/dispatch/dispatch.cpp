// How long the dispatcher takes for one problem, and what a program that has profiles pays when it starts, for the
// digest of each family's contract. tuned_kernel.cpp beside it has the choice of a kernel that is called.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "heddle/kernels/family_registry.hpp"
#include "heddle/kernels/kernel_version.hpp"
#include "heddle/kernels/sonfin/train.hpp"
#include "heddle/runtime/dispatch/dispatcher.hpp"

namespace heddle {
namespace {

const DeviceIdentity kDevice{.backend = "cuda",
                             .name = "bench",
                             .architecture = "9.0",
                             .units = 132,
                             .memory_gib = 140,
                             .cache_bytes = 50 << 20,
                             .local_bytes = 227 << 10};

/// One profile for every problem of the first tuning run, with different configurations of which the family has a
/// model, as those that win have.
std::vector<Profile> profiles() {
  const KernelFamily& family = sonfin::train_family();
  const SearchSpace space = family.space(kDevice);
  std::vector<Profile> all;
  for (const Problem& problem : family.default_problems(kDevice)) {
    std::vector<Configuration> configurations = space.enumerate(problem);
    std::erase_if(configurations, [&](const Configuration& c) { return !family.term_counts(c, kDevice).count; });
    Profile& profile = all.emplace_back();
    profile.key = {.device = kDevice, .family = std::string(family.name()), .problem = problem};
    profile.kernels = kernel_version(family, kDevice);
    profile.configuration = configurations[all.size() * 7919 % configurations.size()].text();
    profile.time = 1.0;
  }
  return all;
}

void cold_decision(benchmark::State& state) {
  const Dispatcher dispatcher(kDevice, sonfin::train_family(), profiles());
  std::int64_t unseen = 0;
  while (state.KeepRunning()) {
    ++unseen;
    benchmark::DoNotOptimize(dispatcher.choose(sonfin::problem(1 + unseen % 1024, 1 + unseen / 1024 % 1024, 10)));
  }
  state.counters["profiles"] = static_cast<double>(profiles().size());
}
// A fixed count, so that no size comes twice.
BENCHMARK(cold_decision)->Iterations(100'000);

void contract(benchmark::State& state, const KernelFamily* family, const DeviceIdentity& device) {
  while (state.KeepRunning()) benchmark::DoNotOptimize(contract_digest(*family, device));
}

void register_contracts() {
  DeviceIdentity processor = kDevice;
  processor.backend = "cpu";
  processor.architecture = "x86-64-v3";
  processor.units = 16;
  for (const auto& family : builtin_families().all()) {  // which live as long as the program
    for (const DeviceIdentity& device : {kDevice, processor}) {
      benchmark::RegisterBenchmark(("contract/" + std::string(family->name()) + "/" + device.backend).c_str(), contract,
                                   family.get(), device)
          ->Unit(benchmark::kMillisecond);
    }
  }
}

}  // namespace
}  // namespace heddle

int main(int count, char** arguments) {
  heddle::register_contracts();
  benchmark::Initialize(&count, arguments);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
