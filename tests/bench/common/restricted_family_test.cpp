#include "heddle/bench/common/restricted_family.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "heddle/kernels/sonfin/train.hpp"

namespace heddle::bench {
namespace {

const DeviceIdentity kDevice{.backend = "cuda",
                             .name = "test",
                             .architecture = "9.0",
                             .units = 132,
                             .memory_gib = 140,
                             .cache_bytes = 50 << 20,
                             .local_bytes = 227 << 10};

TEST_CASE("a restricted family has exactly the configurations of the whole that keep to the allowed values") {
  const KernelFamily& whole = sonfin::train_family();
  const Problem problem = sonfin::problem(100, 37, 3);
  const auto restricted = atm_family().space(kDevice).enumerate(problem);
  auto expected = whole.space(kDevice).enumerate(problem);
  std::erase_if(expected, [](const Configuration& c) {
    return c.word("scheme") != "stepwise" || c.number("kernels") != 3 || c.number("vector") != 1 ||
           c.word("reduction") != "shuffle" || c.word("launch") != "ordered";
  });
  CHECK(restricted.size() > 100);
  REQUIRE(restricted.size() == expected.size());
  CHECK(std::ranges::is_permutation(restricted, expected));
  CHECK(atm_family().default_configuration(kDevice, problem) == restricted.front());
}

}  // namespace
}  // namespace heddle::bench
