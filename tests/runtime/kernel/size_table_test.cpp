#include "heddle/runtime/kernel/size_table.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <thread>

namespace heddle {
namespace {

struct Entry {
  std::int64_t first = 0;
};

TEST_CASE("an entry keeps its address while thousands of others are added, from several threads") {
  SizeTable<Entry> table;
  constexpr std::int64_t kCount = 2000;
  std::array<std::vector<const Entry*>, 4> seen;
  std::vector<std::thread> threads;
  threads.reserve(seen.size());
  for (std::vector<const Entry*>& own : seen) {
    threads.emplace_back([&table, &own] {
      for (std::int64_t i = 0; i < kCount; ++i) {
        const std::array<AxisValue, 2> sizes{i, i % 3 == 0 ? AxisValue() : AxisValue(i % 5)};
        const Entry* found = table.find(sizes);
        if (found == nullptr) found = &table.insert(sizes, std::make_unique<Entry>(Entry{i}));
        own.push_back(found);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& own : seen) CHECK(own == seen[0]);
  CHECK(std::set(seen[0].begin(), seen[0].end()).size() == kCount);
  for (std::int64_t i = 0; i < kCount; ++i) CHECK(seen[0][static_cast<std::size_t>(i)]->first == i);
}

TEST_CASE("a size that is missing is another one than any value, and orders count") {
  SizeTable<Entry> table;
  const auto add = [&](AxisValue a, AxisValue b, std::int64_t value) {
    const std::array sizes{a, b};
    table.insert(sizes, std::make_unique<Entry>(Entry{value}));
  };
  const auto at = [&](AxisValue a, AxisValue b) {
    const std::array sizes{a, b};
    const Entry* const found = table.find(sizes);
    return found == nullptr ? -1 : found->first;
  };
  add(1, 2, 12);
  add(2, 1, 21);
  add(1, std::nullopt, 1);
  add(1, 2, 99);  // the first stays
  CHECK(at(1, 2) == 12);
  CHECK(at(2, 1) == 21);
  CHECK(at(1, std::nullopt) == 1);
  CHECK(at(std::nullopt, 1) == -1);
  CHECK(at(1, 0) == -1);
}

}  // namespace
}  // namespace heddle
