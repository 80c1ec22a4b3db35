#include "heddle/runtime/device/cpu/team_size.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace heddle {
namespace {

/// Launches of 5 ms for so many seconds, in which a thread was missing for a part of the time. The threads at the end.
int launches(TeamSize& size, int parts, double seconds, double missing) {
  for (double done = 0.0; done < seconds - 1e-9; done += 0.005) {
    const int threads = size.of(parts);
    size.count(threads, 0.005, missing * 0.005 * (threads - 1));
  }
  return size.of(parts);
}

TEST_CASE("a team in which a thread is missing for long is halved, down to one thread") {
  TeamSize size;
  CHECK(launches(size, 5, 1.0, 0.3) == 5);
  CHECK_FALSE(size.reduced());
  CHECK(launches(size, 5, 0.025, 0.4) == 3);
  CHECK(size.reduced());
  CHECK(size.of(1) == 1);
  CHECK(size.of(16) == 8);
  CHECK(launches(size, 5, 0.025, 0.4) == 2);
  CHECK(launches(size, 5, 0.025, 0.4) == 1);
  CHECK(launches(size, 5, 0.1, 0.4) == 1);  // one thread waits for nobody
}

TEST_CASE("what was seen for a moment decides nothing, and is not forgotten") {
  TeamSize size;
  CHECK(launches(size, 2, 0.015, 1.0) == 2);
  CHECK(launches(size, 2, 0.01, 0.0) == 1);
}

TEST_CASE("more threads are tried again, ever more rarely while that is in vain") {
  TeamSize size;
  std::vector<double> pauses;
  CHECK(launches(size, 2, 0.025, 0.9) == 1);
  for (double pause = 0.0; pauses.size() < 7;) {
    pause += 0.005;
    if (launches(size, 2, 0.005, 0.9) == 1) continue;
    pauses.push_back(pause);
    pause = 0.0;
    CHECK(launches(size, 2, 0.025, 0.9) == 1);
  }
  const std::vector<double> expected{0.25, 0.5, 1.0, 2.0, 4.0, 4.0, 4.0};
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(pauses[i] == doctest::Approx(expected[i]).epsilon(0.1));
}

TEST_CASE("a machine that is quiet again has all its threads back") {
  TeamSize size;
  CHECK(launches(size, 4, 0.05, 1.0) == 1);
  double seconds = 0.0;
  for (; size.of(4) < 4 && seconds < 10.0; seconds += 0.02) (void)launches(size, 4, 0.02, 0.0);
  CHECK(seconds < 1.0);
  CHECK(launches(size, 4, 10.0, 0.0) == 4);
}

}  // namespace
}  // namespace heddle
