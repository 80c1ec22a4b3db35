#include "heddle/runtime/train/shuffle.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace heddle {
namespace {

TEST_CASE("a permutation has every index once and depends on seed and stream") {
  for (const std::int64_t count : {0, 1, 2, 3, 1000}) {
    std::vector<std::int32_t> order = permutation(count, 5, 1);
    CHECK(order == permutation(count, 5, 1));
    if (count == 1000) {
      CHECK(order != permutation(count, 5, 2));
      CHECK(order != permutation(count, 6, 1));
      CHECK(permutation(count, 5, 2) != permutation(count, 6, 1));
    }
    std::ranges::sort(order);
    std::vector<std::int32_t> all(static_cast<std::size_t>(count));
    std::iota(all.begin(), all.end(), 0);
    CHECK(order == all);
  }
}

TEST_CASE("every order of three is about as likely") {
  std::vector<int> seen(27, 0);
  for (std::uint64_t epoch = 1; epoch <= 6000; ++epoch) {
    const auto order = permutation(3, 1, epoch);
    ++seen.at(static_cast<std::size_t>(order[0]) * 9 + static_cast<std::size_t>(order[1]) * 3 +
              static_cast<std::size_t>(order[2]));
  }
  CHECK(std::ranges::count_if(seen, [](int n) { return n > 0; }) == 6);
  for (const int n : seen) CHECK((n == 0 || (n > 850 && n < 1150)));
}

}  // namespace
}  // namespace heddle
