#include "heddle/cli/interrupt.hpp"

#include <atomic>
#include <csignal>

namespace heddle::cli {
namespace {

std::atomic<bool> asked_to_stop = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may touch nothing else");

extern "C" void ask_to_stop(int) {
  asked_to_stop = true;
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

}  // namespace

void ignore_closed_pipes() { std::signal(SIGPIPE, SIG_IGN); }

void catch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = ask_to_stop;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() noexcept { return asked_to_stop; }

}  // namespace heddle::cli
