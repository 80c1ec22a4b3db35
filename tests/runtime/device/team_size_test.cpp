#include "heddle/runtime/device/cpu/team_size.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

namespace heddle {
namespace {

/// So many launches of 1 ms of work that nobody counts, in which a thread had no core for a part of the time. The
/// threads at the end.
int launches(TeamSize& size, int parts, int count, double missing) {
  for (int i = 0; i < count; ++i) {
    size.count({.kernel = 1, .parts = parts}, 0.001, size.of(parts) > 1 ? 0.001 * missing : 0.0, 0);
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

/// A machine whose 16 threads are kept from running for a part of the time.
struct Machine {
  double each = 0.0;      ///< of the time: any thread, all of them at different times, and the others wait for it
  double last = 0.0;      ///< the same of the core that the last of all 16 threads runs on
  double together = 0.0;  ///< all at the same time
};

/// What a kernel does.
struct Kernel {
  std::uintptr_t name = 1;
  double work = 0.016;      ///< seconds that a launch takes one thread
  unsigned meetings = 100;  ///< of more than one thread
  int parts = 16;
};

/// Launches for so long, the kernels in turn; the part of the time in which there were as many threads as parts.
double run(TeamSize& size, const Machine& machine, double seconds, const std::vector<Kernel>& kernels = {Kernel{}}) {
  double all = 0.0;
  std::size_t i = 0;
  for (double now = 0.0; now < seconds; ++i) {
    const Kernel& kernel = kernels[i % kernels.size()];
    const int threads = size.of(kernel.parts);
    const double waited = threads * machine.each + (threads == 16 ? machine.last : 0.0);
    const double time = kernel.work / threads / (1.0 - waited) / (1.0 - machine.together);
    const double lost = threads == 1 ? 0.0 : waited + threads * machine.together;
    size.count({.kernel = kernel.name, .parts = kernel.parts}, time, time * lost, threads > 1 ? kernel.meetings : 0);
    now += time;
    if (threads == kernel.parts) all += time;
  }
  return all / seconds;
}

TEST_CASE("many threads that lose little each stay, for half of them are slower") {
  TeamSize size;
  CHECK(run(size, {.each = 0.03}, 2.0) > 0.9);  // 0.48 of the time in all
  CHECK(run(size, {.each = 0.03}, 20.0) > 0.98);
  TeamSize two;
  CHECK(run(two, {.each = 0.03}, 10.0, {Kernel{.parts = 2}}) == doctest::Approx(1.0).epsilon(0.01));
}

TEST_CASE("half of the threads stay where they are faster, and all come back when the machine is quiet") {
  TeamSize size;
  const Machine busy{.last = 0.7}, quiet{};
  CHECK(run(size, busy, 0.2) < 0.5);
  CHECK(size.reduced());
  CHECK(size.of(16) == 8);
  CHECK(run(size, busy, 20.0) < 0.1);
  (void)run(size, busy, 0.2);
  CHECK(size.of(16) == 8);
  (void)run(size, quiet, 5.0);
  CHECK(run(size, quiet, 10.0) == doctest::Approx(1.0).epsilon(0.01));
  CHECK_FALSE(size.reduced());
}

TEST_CASE("a try is no shortage, and where a spell has ended its outcome is found wrong soon") {
  TeamSize size;
  const Machine spell{.each = 0.05, .last = 0.1}, quiet{.each = 0.01};  // 0.9 of the time
  bool reduced_in_spell = false;
  for (int i = 0; i < 200; ++i) {
    (void)run(size, spell, 0.001);
    reduced_in_spell |= size.reduced();
  }
  CHECK(reduced_in_spell);
  (void)run(size, quiet, 1.0);
  CHECK(size.of(16) == 16);
  CHECK(run(size, quiet, 10.0) > 0.98);
}

TEST_CASE("all threads come back after a spell, also where they lose much together, whatever their number") {
  for (const double together : {0.03, 0.06, 0.1, 0.2}) {
    CAPTURE(together);
    TeamSize size;
    (void)run(size, {.last = 0.7}, 0.3);
    REQUIRE(size.of(16) < 16);
    (void)run(size, {.together = together}, 10.0);
    CHECK(run(size, {.together = together}, 60.0) > 0.95);
  }
}

TEST_CASE("kernels that run in turn are each compared with themselves") {
  // Two passes of which one is longer; training and prediction; training and a kernel that does not meet, and one whose
  // threads are two.
  for (const std::vector<Kernel>& kernels : {std::vector<Kernel>{{1, 1.6, 2}, {2, 0.32, 3}},
                                             {{1, 0.3, 1000}, {2, 0.3, 1}},
                                             {{1, 0.3, 1000}, {2, 0.01, 0}},
                                             {{1, 0.3, 1000}, {2, 0.001, 10, 2}}}) {
    CAPTURE(kernels[0].work);
    CAPTURE(kernels[1].work);
    TeamSize all, half;
    CHECK(run(all, {.each = 0.03}, 60.0, kernels) > 0.9);
    (void)run(half, {.last = 0.7}, 5.0, kernels);
    CHECK(run(half, {.last = 0.7}, 60.0, kernels) < 0.2);
  }
}

TEST_CASE("many kernels in turn are judged together, and a trial of what is never seen again is no loop") {
  std::vector<Kernel> many;
  for (std::uintptr_t name = 1; name <= 50; ++name) many.push_back({name, 0.016, 100 + static_cast<unsigned>(name)});
  TeamSize size;
  CHECK(run(size, {.each = 0.03}, 60.0, many) > 0.95);
  std::vector<Kernel> ever_new;
  for (std::uintptr_t name = 1; name <= 60000; ++name) ever_new.push_back({name, 0.016, 100});
  TeamSize other;
  CHECK(run(other, {.each = 0.03}, 60.0, ever_new) > 0.7);
}

TEST_CASE("a trial of work that does not come back is given up") {
  TeamSize size;
  const Machine busy{.each = 0.03};
  const TeamSize::Work work{.kernel = 1, .parts = 16};
  while (size.of(16) == 16) size.count(work, 0.001, 0.0005, 100);
  CHECK_FALSE(size.reduced());  // it is a trial
  CHECK(run(size, busy, 0.5, {{2, 0.016, 100}}) == 0.0);
  CHECK(run(size, busy, 20.0, {{2, 0.016, 100}}) > 0.9);
}

}  // namespace
}  // namespace heddle
