#include <doctest/doctest.h>

#include "contract/device_contract.hpp"
#include "heddle/runtime/device/emulator/emulator_device.hpp"

namespace heddle {
namespace {

TEST_CASE("the emulator keeps the contract of devices") {
  for (const std::uint64_t order : {1}) {
    const auto device = open_emulator({.order = order});
    run_device_contract(*device, 0, 1);
  }
}

}  // namespace
}  // namespace heddle
