#include "heddle/runtime/device/cpu/thread_team.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <climits>

namespace heddle {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// A thread that sleeps gives its core to others at once, but waking it takes some 10 us, on a virtual machine 50. A
// teammate with a core of its own is never that late; launches of one run follow each other at such distances.
constexpr double kSpinsForTeammate = 20e-6, kSpinsForLaunch = 50e-6;  // seconds

constexpr unsigned kDone = 0x7fffffff;  // the round of a thread that has ended: no kernel meets so often
constexpr unsigned kStop = 0xffffffff;  // instead of a launch

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

bool reached(unsigned now, unsigned round) { return static_cast<int>(now - round) >= 0; }

/// Sleeps while `at.round` is `seen`; may return earlier.
void sleep(cpu::Arrival& at, unsigned seen) {
  __atomic_fetch_add(&at.sleepers, 1, __ATOMIC_SEQ_CST);
  ::syscall(SYS_futex, &at.round, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
  __atomic_fetch_sub(&at.sleepers, 1, __ATOMIC_SEQ_CST);
}

void wake(cpu::Arrival& at) { ::syscall(SYS_futex, &at.round, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0); }

/// See meet() for the order of the two.
void reach(cpu::Arrival& at, unsigned round) {
  __atomic_store_n(&at.round, round, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&at.sleepers, __ATOMIC_SEQ_CST) != 0) wake(at);
}

/// Waits until there(round) and returns that round; spins so many seconds before it sleeps.
template <class There>
unsigned await(cpu::Arrival& at, double spins, There there) {
  const auto start = Clock::now();
  for (bool patient = true;;) {
    const unsigned now = __atomic_load_n(&at.round, __ATOMIC_ACQUIRE);
    if (there(now)) return now;
    if (!patient) {
      sleep(at, now);
      continue;
    }
    for (int i = 0; i < 8; ++i) pause_briefly();  // reading the clock is not free
    patient = seconds_since(start) < spins;
  }
}

void wait(const cpu::LaunchContext& context, int other, unsigned round) {
  const auto start = Clock::now();
  await(context.arrivals[other], kSpinsForTeammate, [round](unsigned now) { return reached(now, round); });
  context.arrivals[context.thread].waited += seconds_since(start);
}

}  // namespace

struct ThreadTeam::Worker {
  int thread = 0;
  cpu::Arrival launch{};  ///< its round: how many launches there were, or kStop
  std::thread handle;
};

ThreadTeam::ThreadTeam() = default;

ThreadTeam::~ThreadTeam() {
  for (const auto& worker : workers_) reach(worker->launch, kStop);
  for (const auto& worker : workers_) worker->handle.join();
}

void ThreadTeam::grow(int threads) {
  if (threads > room_) {
    arrivals_ = std::make_unique<cpu::Arrival[]>(static_cast<std::size_t>(threads));
    room_ = threads;
  }
  while (static_cast<int>(workers_.size()) + 1 < threads) {
    auto worker = std::make_unique<Worker>();
    worker->thread = static_cast<int>(workers_.size()) + 1;
    worker->handle = std::thread([this, &self = *worker] { work(self); });
    workers_.push_back(std::move(worker));
  }
}

cpu::LaunchContext ThreadTeam::context(int thread) const {
  return {.thread = thread, .threads = threads_, .arrivals = arrivals_.get(), .wait = wait, .wake = wake};
}

void ThreadTeam::work(Worker& worker) {
  for (unsigned launch = 0;;) {
    launch = await(worker.launch, kSpinsForLaunch, [launch](unsigned now) { return now != launch; });
    if (launch == kStop) return;
    kernel_(context(worker.thread), arguments_);
    reach(arrivals_[static_cast<std::size_t>(worker.thread)], kDone);
  }
}

void ThreadTeam::run(cpu::Kernel kernel, void* const* arguments, int parts) {
  const int threads = size_.of(parts);
  grow(threads);
  kernel_ = kernel;
  arguments_ = arguments;
  threads_ = threads;
  const auto start = Clock::now();
  for (int i = 0; i < threads; ++i) {
    cpu::Arrival& arrival = arrivals_[static_cast<std::size_t>(i)];
    arrival.round = 0;
    arrival.waited = 0.0;
  }
  for (int i = 0; i < threads - 1; ++i) {
    cpu::Arrival& launch = workers_[static_cast<std::size_t>(i)]->launch;
    const unsigned next = launch.round + 1;
    reach(launch, next < kDone ? next : 1);
  }
  const cpu::LaunchContext own = context(0);
  kernel(own, arguments);
  for (int other = 1; other < threads; ++other) wait(own, other, kDone);
  double waited = 0.0;
  for (int i = 0; i < threads; ++i) waited += arrivals_[static_cast<std::size_t>(i)].waited;
  size_.count(threads, seconds_since(start), waited);
}

}  // namespace heddle
