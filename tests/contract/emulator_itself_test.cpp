// A few configurations of the families on an emulator that is itself under sanitizers: whether it is right, not they.
#include <doctest/doctest.h>

#include "contract/device_contract.hpp"
#include "heddle/runtime/device/emulator/emulator_device.hpp"
#include "sample.hpp"

namespace heddle {
namespace {

/// Half of the families, which the seed draws; in a long run all, and more of each.
TEST_CASE("the emulator under sanitizers keeps the contract of devices") {
  ContractSample some{
      .drawn = 1, .seed = static_cast<unsigned>(test::sample_seed()), .large = false, .repeat = test::long_run()};
  some.families = test::sample(some.families, some.families.size() / 2);
  some.most = some.least = test::long_run() ? 30 : some.families.size();
  run_device_contract(*open_emulator({.order = 6}), some);
}

}  // namespace
}  // namespace heddle
