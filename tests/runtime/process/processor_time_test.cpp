#include "heddle/runtime/process/processor_time.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

#include "heddle/runtime/process/channel.hpp"

namespace heddle {
namespace {

/// A process with a thread that computes for ever beside one that waits, or without it.
pid_t start(bool computes) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  if (computes) {
    std::thread([] {
      for (std::atomic<unsigned> steps = 0;;) ++steps;
    }).detach();
  }
  for (;;) ::pause();
}

void end(pid_t child) {
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

}  // namespace

TEST_CASE("a process that computes is told from one that waits, and from one that is kept from computing") {
  const pid_t busy = start(true), idle = start(false);
  const ProcessorTime of_busy(busy), of_idle(idle);
  constexpr double kSeconds = 0.1;
  // However busy the machine is, some time it will have had a tenth of a second.
  const double patience = seconds_now() + 120.0;
  while (of_busy.of_busiest_thread() < kSeconds && seconds_now() < patience) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  CHECK(of_busy.of_busiest_thread() >= kSeconds);
  CHECK(of_idle.of_busiest_thread() == 0.0);
  CHECK(of_busy.would_go_on());
  // A new process may still be on its way to where it waits.
  while (of_idle.would_go_on() && seconds_now() < patience) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  CHECK_FALSE(of_idle.would_go_on());

  REQUIRE(::kill(busy, SIGSTOP) == 0);
  int status = 0;
  REQUIRE(::waitpid(busy, &status, WUNTRACED) == busy);
  const ProcessorTime of_stopped(busy);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  CHECK(of_stopped.of_busiest_thread() == 0.0);
  CHECK(of_stopped.would_go_on());
  end(busy);
  end(idle);
  CHECK(of_busy.of_busiest_thread() == 0.0);
  CHECK_FALSE(of_busy.would_go_on());
}

}  // namespace heddle
