#include "heddle/runtime/device/cpu/thread_team.hpp"

#include <doctest/doctest.h>

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

}  // namespace
}  // namespace heddle
