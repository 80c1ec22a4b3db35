#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

#include "contract/device_contract.hpp"
#include "contract/device_reference.hpp"
#include "contract/wrong_kernels.hpp"
#include "heddle/runtime/device/cuda/cuda_device.hpp"

namespace heddle {
namespace {

/// HEDDLE_CONTRACT_CASES: configurations to try at most, HEDDLE_CONTRACT_EXCEPT: a word (scheme=cluster) of those to
/// leave out; for tools under which kernels are slow, or that do not know what they use.
ContractSample sample() {
  ContractSample sample{.drawn = 12};
  if (const char* most = std::getenv("HEDDLE_CONTRACT_CASES")) {
    sample = {.drawn = 1, .every_value = true, .large = false, .most = std::stoul(most)};
  }
  if (const char* except = std::getenv("HEDDLE_CONTRACT_EXCEPT")) sample.except = except;
  return sample;
}

TEST_CASE("the CUDA device keeps the contract of every device") {
  CudaDevice device(0);
  run_device_contract(device, sample());
}

TEST_CASE("the float64 kernels of the reference compute what the reference computes, on a GPU") {
  CudaDevice device(0);
  check_device_reference(device, 257, 129, 40);
}

TEST_CASE("wrong kernels are found on a GPU, for every scheme") {
  CudaDevice device(0);
  find_wrong_kernels(device);
}

}  // namespace
}  // namespace heddle
