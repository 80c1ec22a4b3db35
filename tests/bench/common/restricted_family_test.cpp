#include "heddle/bench/common/restricted_family.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "bench/card.hpp"
#include "heddle/kernels/sonfin/train.hpp"

namespace heddle::bench {
namespace {

TEST_CASE("a restricted family has exactly the configurations of the whole that keep to the allowed values") {
  const KernelFamily& whole = sonfin::train_family();
  const Problem problem = sonfin::problem(100, 37, 3);
  const auto restricted = atm_family().space(kCard).enumerate(problem);
  auto expected = whole.space(kCard).enumerate(problem);
  std::erase_if(expected, [](const Configuration& c) {
    return c.word("scheme") != "stepwise" || c.number("kernels") != 3 || c.number("vector") != 1 ||
           c.word("reduction") != "shuffle" || c.word("launch") != "ordered";
  });
  CHECK(restricted.size() > 100);
  REQUIRE(restricted.size() == expected.size());
  CHECK(std::ranges::is_permutation(restricted, expected));
  CHECK(atm_family().default_configuration(kCard, problem) == restricted.front());
}

}  // namespace
}  // namespace heddle::bench
