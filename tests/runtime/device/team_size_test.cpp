#include "heddle/runtime/device/cpu/team_size.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace heddle {
namespace {

/// So many launches of 1 ms, in which a thread had no core for a part of the time. The threads at the end.
int launches(TeamSize& size, int parts, int count, double missing) {
  for (int i = 0; i < count; ++i) {
    size.count(0.001, size.of(parts) > 1 ? 0.001 * missing : 0.0);
  }
  return size.of(parts);
}

/// Launches until there are so many threads.
int until(TeamSize& size, int parts, int threads, double missing) {
  int count = 0;
  while (size.of(parts) != threads && count < 100000) {
    (void)launches(size, parts, 1, missing);
    ++count;
  }
  return count;
}

TEST_CASE("a team that is without a core for long is halved, down to one thread") {
  TeamSize size;
  CHECK(launches(size, 5, 10000, 0.3) == 5);
  CHECK_FALSE(size.reduced());
  CHECK(until(size, 5, 3, 0.5) < 100);
  CHECK(size.reduced());
  CHECK(size.of(1) == 1);
  CHECK(size.of(16) == 8);
  CHECK(until(size, 5, 2, 0.5) < 100);
  CHECK(until(size, 5, 1, 0.5) < 100);
  CHECK(launches(size, 5, 200, 0.5) == 1);  // a thread alone takes what it gets
}

TEST_CASE("the more is lost, the sooner there are fewer threads, but not for one turn of another program") {
  TeamSize half, all;
  const int some = until(half, 2, 1, 0.5), most = until(all, 2, 1, 1.0);
  CHECK(most < some);
  CHECK(most > 8);
  TeamSize size;
  for (int i = 0; i < 100; ++i) {  // 4 ms of each 20
    CHECK(launches(size, 2, 4, 1.0) == 2);
    CHECK(launches(size, 2, 16, 0.0) == 2);
  }
}

TEST_CASE("more threads are tried again, ever more rarely while that is in vain") {
  TeamSize size;
  (void)until(size, 2, 1, 0.9);
  std::vector<int> pauses;
  for (int i = 0; i < 7; ++i) {
    pauses.push_back(until(size, 2, 2, 0.9));
    CHECK(until(size, 2, 1, 0.9) < 50);
  }
  const std::vector<int> expected{250, 500, 1000, 2000, 4000, 4000, 4000};
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(pauses[i] == doctest::Approx(expected[i]).epsilon(0.01));
}

TEST_CASE("a machine that is quiet again has all its threads back") {
  TeamSize size;
  (void)until(size, 4, 1, 1.0);
  CHECK(until(size, 4, 4, 0.0) < 1000);
  CHECK(launches(size, 4, 10000, 0.0) == 4);
}

}  // namespace
}  // namespace heddle
