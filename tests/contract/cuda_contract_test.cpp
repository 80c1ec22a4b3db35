#include <doctest/doctest.h>

#include "contract/device_contract.hpp"
#include "heddle/runtime/device/cuda/cuda_device.hpp"

namespace heddle {
namespace {

TEST_CASE("the CUDA device keeps the contract of every device") {
  CudaDevice device(0);
  run_device_contract(device, 12, 1);
}

}  // namespace
}  // namespace heddle
