#include <doctest/doctest.h>

#include <thread>
#include <vector>

#include "contract/device_contract.hpp"
#include "heddle/runtime/device/emulator/emulator_device.hpp"

namespace heddle {
namespace {

/// Two orders at a time: every device has its own machine, and all find the kernels that the first had compiled.
void try_orders(const std::vector<std::uint64_t>& orders, const ContractSample& sample) {
  std::vector<std::thread> threads;
  threads.reserve(orders.size());
  for (const std::uint64_t order : orders) {
    threads.emplace_back([order, sample = sample]() mutable {
      sample.seed += static_cast<unsigned>(order);  // other configurations too
      run_device_contract(*open_emulator({.order = order}), sample);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_CASE("the emulator keeps the contract of devices, in several orders of threads and blocks") {
  const ContractSample sample{.drawn = 1, .every_value = true, .large = false, .repeat = false, .most = 12};
  try_orders({0, 1}, sample);
  try_orders({2, 3}, sample);
}

TEST_CASE("the emulator keeps the contract of devices: blocks of more inputs than threads") {
  try_orders({4}, {.repeat = false, .most = 16});
}

TEST_CASE("the emulator keeps the contract of devices on an older architecture") {
  run_device_contract(*open_emulator({.capability = 75, .order = 5}), {.large = false, .most = 16});
}

}  // namespace
}  // namespace heddle
