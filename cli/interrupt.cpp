#include "heddle/cli/interrupt.hpp"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <utility>

#include "heddle/cli/reported.hpp"

namespace heddle::cli {
namespace {

std::atomic<bool> asked_to_stop = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may touch nothing else");

extern "C" void ask_to_stop(int) {
  asked_to_stop = true;
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

/// A terminal that goes away says so more than once (the shell and the kernel do), and some systems send SIGTERM and
/// SIGHUP together: that is no insistence of the user.
extern "C" void terminal_gone(int) { asked_to_stop = true; }

}  // namespace

void catch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = ask_to_stop;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  struct sigaction before = {};
  sigaction(SIGHUP, nullptr, &before);
  if (before.sa_handler == SIG_IGN) return;  // started by nohup
  action.sa_handler = terminal_gone;
  sigaction(SIGHUP, &action, nullptr);
}

bool interrupted() noexcept { return asked_to_stop; }

LeaveInTime::LeaveInTime(std::function<int()> leave) : leave_(std::move(leave)), watcher_([this] { watch(); }) {}

LeaveInTime::~LeaveInTime() {
  {
    const std::scoped_lock lock(mutex_);  // where `leave` runs, the program ends meanwhile
    done_ = true;
  }
  ended_.notify_all();
  watcher_.join();
}

void LeaveInTime::watch() {
  using namespace std::chrono_literals;
  constexpr auto kLook = 200ms, kGrace = 1500ms;  // together less than the 2 s promised
  std::unique_lock lock(mutex_);
  while (!interrupted()) {
    if (ended_.wait_for(lock, kLook, [this] { return done_; })) return;
  }
  if (ended_.wait_for(lock, kGrace, [this] { return done_; })) return;
  std::_Exit(reported(leave_));
}

}  // namespace heddle::cli
