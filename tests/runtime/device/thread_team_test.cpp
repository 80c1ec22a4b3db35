#include "heddle/runtime/device/cpu/thread_team.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <thread>
#include <vector>

namespace heddle {
namespace {

constexpr unsigned kRounds = 500;

/// Every thread adds one to its counter per round, and in the round after looks at the others'.
void count_rounds(const cpu::LaunchContext& context, void* const* arguments) {
  auto* counters = static_cast<std::vector<unsigned>*>(arguments[0]);
  auto* late = static_cast<std::vector<unsigned>*>(arguments[1]);
  const auto self = static_cast<std::size_t>(context.thread);
  for (unsigned round = 1; round <= kRounds; ++round) {
    ++(*counters)[self * 2 + round % 2];
    cpu::meet(context, round);
    for (int other = 0; other < context.threads; ++other) {
      (*late)[self] += (*counters)[static_cast<std::size_t>(other) * 2 + round % 2] != (round + 1) / 2 ? 1U : 0U;
    }
  }
}

TEST_CASE("threads meet as often as they want, more of them than cores, launch after launch") {
  ThreadTeam team;
  for (const int threads : {1, 3, 8, 2, 5}) {
    std::vector<unsigned> counters(static_cast<std::size_t>(threads) * 2), late(static_cast<std::size_t>(threads));
    void* const arguments[] = {&counters, &late};
    team.run(count_rounds, arguments, threads);
    for (const unsigned count : counters) CHECK(count == kRounds / 2);
    for (const unsigned count : late) CHECK(count == 0);
  }
}

/// The last thread comes late to each of two meetings, so late that the others sleep.
void come_late(const cpu::LaunchContext& context, void* const* arguments) {
  auto* seen = static_cast<std::vector<int>*>(arguments[0]);
  const auto self = static_cast<std::size_t>(context.thread);
  for (unsigned round = 1; round <= 2; ++round) {
    if (context.thread + 1 == context.threads) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    (*seen)[2 * self + round - 1] = 1;
    cpu::meet(context, round);
    for (std::size_t other = 0; other < seen->size() / 2; ++other) {
      if ((*seen)[2 * other + round - 1] == 0) (*seen)[2 * self + round - 1] = 2;
    }
  }
}

TEST_CASE("threads that sleep are woken, and a team that mostly waits becomes smaller") {
  ThreadTeam team;
  std::vector<int> seen(6);
  void* const arguments[] = {&seen};
  team.run_adapted(come_late, arguments, 3);
  CHECK(seen == std::vector<int>(6, 1));
  CHECK(team.size().of(3) == 2);
  for (const int parts : {3, 8, 1, 2}) {
    const auto threads = static_cast<std::size_t>(team.size().of(parts));
    std::vector<unsigned> counters(threads * 2), late(threads);
    void* const others[] = {&counters, &late};
    team.run_adapted(count_rounds, others, parts);
    CHECK(counters == std::vector<unsigned>(threads * 2, kRounds / 2));
  }
}

}  // namespace
}  // namespace heddle
