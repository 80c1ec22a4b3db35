// What is verified, and what is found by it, on devices that every machine has. On a GPU: cuda_contract_test.cpp.
#include <doctest/doctest.h>

#include "contract/device_reference.hpp"
#include "contract/wrong_kernels.hpp"
#include "heddle/runtime/device/cpu/cpu_device.hpp"
#include "heddle/runtime/device/emulator/emulator_device.hpp"

namespace heddle {
namespace {

TEST_CASE("wrong kernels are found on the CPU, for every scheme and with one and several threads") {
  find_wrong_kernels(*open_cpu_device());
}

TEST_CASE("wrong kernels are found on the emulator, for every scheme") { find_wrong_kernels(*open_emulator()); }

TEST_CASE("the float64 kernels of the reference compute what the reference computes, on the emulator") {
  check_device_reference(*open_emulator({.order = 3}), 7, 35, 5);
}

}  // namespace
}  // namespace heddle
