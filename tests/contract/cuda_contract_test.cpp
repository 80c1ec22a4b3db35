#include <doctest/doctest.h>

#include <string_view>
#include <vector>

#include "contract/contract_environment.hpp"
#include "contract/device_contract.hpp"
#include "contract/device_reference.hpp"
#include "contract/wrong_kernels.hpp"
#include "heddle/kernels/fuzzy/sort.hpp"
#include "heddle/kernels/sonfin/problems.hpp"
#include "heddle/kernels/tsk/system.hpp"
#include "heddle/runtime/device/cuda/cuda_device.hpp"
#include "heddle/tuner/verifier.hpp"

namespace heddle {
namespace {

/// 783 configurations on an H200.
const ContractSample kUsual{.drawn = 12, .forms = true, .thorough = true, .least = 500};

TEST_CASE("the CUDA device keeps the contract of every device") {
  CudaDevice device(0);
  run_device_contract(device, contract::sample_of_environment(kUsual, device.identity()));
}

TEST_CASE("the float64 kernels of the reference compute what the reference computes, on a GPU") {
  CudaDevice device(0);
  check_device_reference(device, 257, 129, 40);
}

TEST_CASE("timed runs on a GPU end as near to float64 as rounding explains, where training is chaotic too") {
  CudaDevice device(0);
  std::vector<Problem> problems;
  for (const std::int64_t rules : {32, 256, 1024}) {
    for (const std::int64_t dim : {16, 128, 1024}) {
      for (const std::int64_t outputs : {1, 10, 26}) problems.push_back(sonfin::problem(rules, dim, outputs));
    }
  }
  const std::vector<std::string_view> sonfin{"sonfin-train", "sonfin-predict"};
  check_timed_runs(device, sonfin, problems, 2048);
  check_timed_runs(device, sonfin, {sonfin::problem(32, 16, 1)}, 4096);
  check_timed_runs(device, {"tsk-constant"},
                   {tsk::problem(16, 2, 1, 1024), tsk::problem(35, 8, 1, 65536), tsk::problem(128, 8, 1, 1048576)},
                   16384);
  check_timed_runs(device, {"tsk-linear"}, {tsk::problem(4, 8, 1, 65536), tsk::problem(16, 8, 1, 1048576)}, 16384);
}

/// Sorts numbers of one cut in lower-upper form, untuned, and returns how.
Configuration sort_untuned(CudaDevice& device, std::int64_t numbers, std::int64_t bits) {
  const KernelFamily& family = fuzzy::sort_family(fuzzy::Encoding::lower_upper);
  const Problem problem = Problem::from(family.axes(), {numbers, 1, bits, fuzzy::kNumbers});
  Configuration untuned = family.default_configuration(device.identity(), problem);
  const Verdict verdict = Verifier(device, family, 3).verify(untuned, problem, VerificationExtent::one_run);
  CHECK_MESSAGE(verdict.status == Status::correct, verdict.message);
  return untuned;
}

TEST_CASE("a GPU sorts as many numbers as leave room for the last digit of a key beside a position, and more") {
  CudaDevice device(0);
  constexpr std::int64_t kRoom = std::int64_t{1} << 24;  // positions of 24 bits, beside 8 of a key
  for (const std::int64_t numbers : {kRoom, kRoom + 1}) {
    for (const std::int64_t bits : {32, 64}) CHECK(sort_untuned(device, numbers, bits).number("digit_bits") == 8);
  }
}

TEST_CASE("a GPU moves numbers in the parts of their array that are untuned") {
  CudaDevice device(0);
  // Of two floats: a bit less than three halves of the cache.
  const std::int64_t numbers = device.identity().cache_bytes / 2 / 8 * 29 / 10 + 1;
  CHECK(sort_untuned(device, numbers, 32).number("gather_parts") == 3);
}

TEST_CASE("wrong kernels are found on a GPU, for every scheme") {
  CudaDevice device(0);
  find_wrong_kernels(device);
}

}  // namespace
}  // namespace heddle
