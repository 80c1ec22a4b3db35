#include "heddle/runtime/device/cpu/team_size.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace heddle {
namespace {

/// So many launches of 1 ms of work that nobody counts, in which a thread had no core for a part of the time. The
/// threads at the end.
int launches(TeamSize& size, int parts, int count, double missing) {
  for (int i = 0; i < count; ++i) {
    size.count(0.001, size.of(parts) > 1 ? 0.001 * missing : 0.0, 0);
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

/// A machine on which so many threads meet 100 times in a launch, each time after their share of the work. Every thread
/// is kept from running for a part of the time, all of them at different times, and the others wait for it.
struct Machine {
  double each = 0.0;  ///< part of the time for which any thread is kept from running
  double last = 0.0;  ///< the same of the core that the last of all 16 threads runs on

  /// Runs launches for so long; the part of the time in which there were as many threads as parts.
  double run(TeamSize& size, int parts, double seconds) const {
    double all = 0.0;
    for (double now = 0.0; now < seconds;) {
      const int threads = size.of(parts);
      const double kept = threads * each + (threads == 16 ? last : 0.0);
      const double time = 0.016 / threads / (1.0 - kept);
      size.count(time, time * kept, threads > 1 ? 100 : 0);
      now += time;
      if (threads == parts) all += time;
    }
    return all / seconds;
  }
};

TEST_CASE("many threads that lose little each stay, for half of them are slower") {
  TeamSize size;
  CHECK(Machine{.each = 0.03}.run(size, 16, 2.0) > 0.9);  // 0.48 of the time in all
  CHECK(Machine{.each = 0.03}.run(size, 16, 20.0) > 0.98);
  TeamSize two;
  CHECK(Machine{.each = 0.03}.run(two, 2, 10.0) == doctest::Approx(1.0).epsilon(0.01));
}

TEST_CASE("half of the threads stay where they are faster, and all come back when the machine is quiet") {
  TeamSize size;
  const Machine busy{.each = 0.0, .last = 0.7}, quiet;
  CHECK(busy.run(size, 16, 0.2) < 0.5);
  CHECK(size.reduced());
  CHECK(size.of(16) == 8);
  CHECK(busy.run(size, 16, 20.0) < 0.1);
  (void)busy.run(size, 16, 0.2);
  CHECK(size.of(16) == 8);
  (void)quiet.run(size, 16, 5.0);
  CHECK(quiet.run(size, 16, 10.0) == doctest::Approx(1.0).epsilon(0.01));
  CHECK_FALSE(size.reduced());
}

TEST_CASE("a try is no shortage, and where a spell has ended its outcome is found wrong soon") {
  TeamSize size;
  const Machine spell{.each = 0.05, .last = 0.1}, quiet{.each = 0.01};  // 0.9 of the time
  bool reduced_in_spell = false;
  for (int i = 0; i < 200; ++i) {
    (void)spell.run(size, 16, 0.001);
    reduced_in_spell |= size.reduced();
  }
  CHECK(reduced_in_spell);
  (void)quiet.run(size, 16, 1.0);
  CHECK(size.of(16) == 16);
  CHECK(quiet.run(size, 16, 10.0) > 0.98);
}

}  // namespace
}  // namespace heddle
