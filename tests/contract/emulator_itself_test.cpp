// A few configurations of the families on an emulator that is itself under sanitizers: whether it is right, not they.
#include <doctest/doctest.h>

#include "contract/device_contract.hpp"
#include "heddle/runtime/device/emulator/emulator_device.hpp"
#include "sample.hpp"

namespace heddle {
namespace {

TEST_CASE("the emulator under sanitizers keeps the contract of devices") {
  const std::size_t each_once = ContractSample{}.families.size();
  const std::size_t most = test::long_run() ? 30 : each_once;
  run_device_contract(
      *open_emulator({.order = 6}),
      {.drawn = 1, .seed = static_cast<unsigned>(test::sample_seed()), .large = false, .most = most, .least = most});
}

}  // namespace
}  // namespace heddle
