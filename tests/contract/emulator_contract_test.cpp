#include <doctest/doctest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "contract/device_contract.hpp"
#include "heddle/runtime/device/emulator/emulator_device.hpp"

namespace heddle {
namespace {

struct Attempt {
  EmulatorOptions options;
  ContractSample sample;
};

/// Two at a time: every device has its own machine, and all find the kernels that the first had compiled.
void try_all(const std::vector<Attempt>& attempts) {
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < attempts.size(); i = next++) {
      run_device_contract(*open_emulator(attempts[i].options), attempts[i].sample);
    }
  };
  std::thread other(work);
  work();
  other.join();
}

TEST_CASE("the emulator keeps the contract of devices, in several orders of threads and blocks") {
  std::vector<Attempt> attempts;
  // Other configurations in every order too.
  for (unsigned order = 0; order < 4; ++order) {
    attempts.push_back(
        {{.order = order}, {.drawn = 1, .seed = 1 + order, .every_value = true, .large = false, .repeat = false}});
  }
  // Blocks of more inputs than threads; an older architecture.
  attempts.push_back({{.order = 4}, {.repeat = false, .most = 30}});
  attempts.push_back({{.capability = 75, .order = 5}, {.large = false, .most = 20}});
  try_all(attempts);
}

TEST_CASE("on the emulator no family's result depends on the order of threads and blocks") {
  for (const KernelFamily* family : families()) {
    if (!family->supports("emulator")) continue;
    INFO(family->name());
    const HostImage first = outcome_of_default(*open_emulator(), *family, 3);
    for (const std::uint64_t order : {1, 2, 3}) {
      INFO("order " << order);
      CHECK(outcome_of_default(*open_emulator({.order = order}), *family, 3) == first);
    }
  }
}

}  // namespace
}  // namespace heddle
