#include "heddle/runtime/device/cpu/team_size.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace heddle {
namespace {

using Change = TeamSize::Change;

/// One epoch of a second in which `missing` of the time a thread was waited for.
Change epoch(TeamSize& size, int parts, double missing) {
  const int threads = size.of(parts);
  size.count(threads, 1.0, missing * (threads - 1));
  return size.adapt();
}

TEST_CASE("a team that waits more than half of the time is halved, down to one thread") {
  TeamSize size;
  CHECK(size.of(5) == 5);
  CHECK(epoch(size, 5, 0.4) == Change::none);
  std::vector<int> threads;
  for (int i = 0; i < 3; ++i) {
    CHECK(epoch(size, 5, 0.6) == Change::fewer);
    threads.push_back(size.of(5));
  }
  CHECK(threads == std::vector<int>{3, 2, 1});
  CHECK(size.of(1) == 1);
  CHECK(size.of(16) == 2);
  CHECK(epoch(size, 5, 0.0) == Change::none);  // one thread waits for nobody
}

TEST_CASE("what was seen for a moment decides nothing, and is not forgotten") {
  TeamSize size;
  size.count(2, 0.02, 0.02);
  CHECK(size.adapt() == Change::none);
  size.count(2, 0.02, 0.02);
  CHECK(size.adapt() == Change::fewer);
  CHECK(size.adapt() == Change::none);
}

TEST_CASE("more threads are tried again, ever more rarely while that is in vain") {
  TeamSize size;
  std::vector<int> pauses;
  CHECK(epoch(size, 2, 0.9) == Change::fewer);
  for (int calm = 1; pauses.size() < 6; ++calm) {
    if (epoch(size, 2, 0.0) != Change::more) continue;
    pauses.push_back(calm);
    CHECK(size.of(2) == 2);
    CHECK(epoch(size, 2, 0.9) == Change::fewer);
    calm = 0;
  }
  CHECK(pauses == std::vector<int>{4, 8, 16, 32, 64, 64});
}

TEST_CASE("a machine that is quiet again has all its threads back") {
  TeamSize size;
  CHECK(epoch(size, 4, 1.0) == Change::fewer);
  CHECK(epoch(size, 4, 1.0) == Change::fewer);
  int epochs = 0;
  while (size.of(4) < 4 && epochs < 100) {
    (void)epoch(size, 4, 0.0);
    ++epochs;
  }
  CHECK(epochs == 4 + 8);
  for (int i = 0; i < 100; ++i) CHECK(epoch(size, 4, 0.0) == Change::none);
}

}  // namespace
}  // namespace heddle
