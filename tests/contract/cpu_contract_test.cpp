#include <doctest/doctest.h>

#include "contract/device_contract.hpp"
#include "heddle/runtime/device/cpu/cpu_device.hpp"

TEST_CASE("the CPU device keeps the contract of devices") {
  const auto device = heddle::open_cpu_device();
  heddle::run_device_contract(*device, {.drawn = 8});
}
