// Which part of a test that takes minutes is run: all of it by scripts/test --long, else what a seed draws.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <random>
#include <vector>

namespace heddle::test {

/// HEDDLE_TEST_SEED, which scripts/test sets and prints; 1 if nobody did.
[[nodiscard]] inline std::uint64_t sample_seed() {
  const char* const seed = std::getenv("HEDDLE_TEST_SEED");
  return seed == nullptr ? 1 : std::strtoull(seed, nullptr, 10);
}

/// Whether HEDDLE_TEST_LONG is set.
[[nodiscard]] inline bool long_run() { return std::getenv("HEDDLE_TEST_LONG") != nullptr; }

/// All in a long run, else `count` of them, in their order.
template <class T>
[[nodiscard]] std::vector<T> sample(const std::vector<T>& all, std::size_t count) {
  if (long_run()) return all;
  std::mt19937_64 generator(sample_seed());
  std::vector<T> drawn;
  std::sample(all.begin(), all.end(), std::back_inserter(drawn), static_cast<std::ptrdiff_t>(count), generator);
  return drawn;
}

}  // namespace heddle::test
