#include "heddle/runtime/device/cpu/thread_team.hpp"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstdint>
#include <ctime>

namespace heddle {
namespace {

// Seconds. A thread that sleeps leaves its core to others at once, but waking it takes 20 to 50 us. Spinning as long
// before costs at most twice as much as the better of the two. A worker spins longer for the next launch: a program
// that trains has it ready by then.
constexpr double kSpinForTeammate = 50e-6, kSpinForLaunch = 100e-6;
// Between two moves of a thread to another core. Where another program has that core, moving is no use.
constexpr double kBetweenMoves = 5e-3;
// That a thread keeps to a core that it has moved to.
constexpr double kBoundFor = 0.1;

constexpr unsigned kDone = 0x7fffffff;  // the round of a thread that has ended: no kernel meets so often
constexpr unsigned kStop = 0xffffffff;  // instead of a launch

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

unsigned round_of(const cpu::Arrival& at) { return __atomic_load_n(&at.round, __ATOMIC_ACQUIRE); }
bool reached(unsigned now, unsigned round) { return static_cast<int>(now - round) >= 0; }

/// Sleeps while `at.round` is `seen`; may return earlier.
void sleep(cpu::Arrival& at, unsigned seen) {
  __atomic_fetch_add(&at.sleepers, 1, __ATOMIC_SEQ_CST);
  ::syscall(SYS_futex, &at.round, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
  __atomic_fetch_sub(&at.sleepers, 1, __ATOMIC_SEQ_CST);
}

void wake_sleepers(cpu::Arrival& at) {
  double start = now();
  __atomic_store(&at.woke, &start, __ATOMIC_RELAXED);
  ::syscall(SYS_futex, &at.round, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

/// LaunchContext::wake.
void wake(cpu::Arrival& at) {
  const double start = now();
  wake_sleepers(at);
  at.lost += now() - start;
}

/// See meet() for the order of the two. Whoever waits for this round goes on at once, so nothing but atomic members is
/// touched after it: the launch may be over, and the next one begun, before the sleepers are woken.
void reach(cpu::Arrival& at, unsigned round) {
  __atomic_store_n(&at.round, round, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&at.sleepers, __ATOMIC_SEQ_CST) != 0) wake_sleepers(at);
}

/// Spins until `at.round` is no longer `seen`, or as long as a teammate may need.
bool changes_soon(const cpu::Arrival& at, unsigned seen, double seconds) {
  const double start = now();
  do {
    for (int i = 0; i < 8; ++i) {  // reading the clock is not free
      if (round_of(at) != seen) return true;
      pause_briefly();
    }
  } while (now() - start < seconds);
  return false;
}

int core_of(const cpu::Arrival& at) { return __atomic_load_n(&at.core, __ATOMIC_RELAXED); }
void see_core(cpu::Arrival& own) { __atomic_store_n(&own.core, ::sched_getcpu(), __ATOMIC_RELAXED); }

/// Where this thread may run besides the cores that it keeps to.
struct Binding {
  bool bound = false;
  cpu_set_t allowed{};
};
thread_local Binding binding;

/// Lets a thread that has kept to some cores for long run everywhere again.
void unbind_in_time(const cpu::Arrival& own) {
  if (!binding.bound || now() - own.moved < kBoundFor) return;
  binding.bound = false;
  ::sched_setaffinity(0, sizeof binding.allowed, &binding.allowed);
}

/// Leaves a core that a teammate is on for one that none is on, and returns whether there is one where this thread may
/// run. The thread keeps away from its teammates for a while: the system often wakes it on the core of the thread that
/// wakes it, above all where the machine is virtual and other guests take time from one of its cores.
bool leave_core(const cpu::LaunchContext& context) {
  cpu::Arrival& own = context.arrivals[context.thread];
  if (now() - own.moved < kBetweenMoves) return false;
  if (!binding.bound && ::sched_getaffinity(0, sizeof binding.allowed, &binding.allowed) != 0) return false;
  cpu_set_t free = binding.allowed;
  CPU_CLR(::sched_getcpu(), &free);
  for (int other = 0; other < context.threads; ++other) {
    if (other != context.thread) CPU_CLR(core_of(context.arrivals[other]), &free);
  }
  if (CPU_COUNT(&free) == 0) return false;
  own.moved = now();
  binding.bound = ::sched_setaffinity(0, sizeof free, &free) == 0;
  see_core(own);
  return binding.bound;
}

/// LaunchContext::wait.
void wait(const cpu::LaunchContext& context, int other, unsigned round) {
  cpu::Arrival& own = context.arrivals[context.thread];
  cpu::Arrival& theirs = context.arrivals[other];
  for (unsigned seen = round_of(theirs); !reached(seen, round); seen = round_of(theirs)) {
    see_core(own);
    const bool same_core = core_of(own) == core_of(theirs);  // what it waits for cannot happen while it spins
    if (!same_core && changes_soon(theirs, seen, kSpinForTeammate)) continue;
    if (same_core && other < context.thread && leave_core(context)) continue;  // one of the two, not both
    const double start = now();
    sleep(theirs, seen);
    const double end = now();
    double woke;
    __atomic_load(&theirs.woke, &woke, __ATOMIC_RELAXED);
    own.slept += end - start;
    if (woke > start) own.lost += end - woke;  // until there was a core for it
    see_core(own);
  }
}

/// Seconds that this thread has run so far.
double own_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

struct ThreadTeam::Worker {
  cpu::Arrival launch{};  ///< its round: how many launches there were, or kStop
  int thread = 0;
  std::thread handle;
};

ThreadTeam::ThreadTeam() = default;

ThreadTeam::~ThreadTeam() {
  for (const auto& worker : workers_) reach(worker->launch, kStop);
  for (const auto& worker : workers_) worker->handle.join();
}

void ThreadTeam::grow(int threads) {
  if (threads > room_) {
    room_ = std::max(threads, 2 * room_);
    arrivals_.push_back(std::make_unique<cpu::Arrival[]>(static_cast<std::size_t>(room_)));
  }
  while (static_cast<int>(workers_.size()) + 1 < threads) {
    auto worker = std::make_unique<Worker>();
    worker->thread = static_cast<int>(workers_.size()) + 1;
    worker->handle = std::thread([this, &self = *worker] { work(self); });
    workers_.push_back(std::move(worker));
  }
}

cpu::LaunchContext ThreadTeam::context(int thread) const {
  return {.thread = thread, .threads = threads_, .arrivals = arrivals_.back().get(), .wait = wait, .wake = wake};
}

unsigned ThreadTeam::take_part(int thread) {
  const cpu::LaunchContext own = context(thread);
  cpu::Arrival& arrival = own.arrivals[thread];
  unbind_in_time(arrival);
  see_core(arrival);
  const double ran = own_time();
  kernel_(own, arguments_);
  arrival.lost += std::max(0.0, (now() - started_) - (own_time() - ran) - arrival.slept);
  const unsigned meetings = arrival.round;
  reach(arrival, kDone);
  return meetings;
}

void ThreadTeam::work(Worker& worker) {
  for (unsigned last = 0;;) {
    while (!changes_soon(worker.launch, last, kSpinForLaunch) && round_of(worker.launch) == last) {
      sleep(worker.launch, last);
    }
    last = round_of(worker.launch);
    if (last == kStop) return;
    take_part(worker.thread);
  }
}

ThreadTeam::Outcome ThreadTeam::launch(cpu::Kernel kernel, void* const* arguments, int threads) {
  if (threads == 1) {
    cpu::Arrival alone{};
    kernel({.thread = 0, .threads = 1, .arrivals = &alone, .wait = wait, .wake = wake}, arguments);
    return {};
  }
  grow(threads);
  kernel_ = kernel;
  arguments_ = arguments;
  threads_ = threads;
  started_ = now();
  cpu::Arrival* const arrivals = arrivals_.back().get();
  for (int i = 0; i < threads; ++i) {
    cpu::Arrival& arrival = arrivals[i];
    __atomic_store_n(&arrival.round, 0U, __ATOMIC_RELAXED);
    __atomic_store_n(&arrival.core, -1, __ATOMIC_RELAXED);
    arrival.slept = arrival.lost = 0.0;
  }
  for (int i = 0; i < threads - 1; ++i) {
    cpu::Arrival& launch = workers_[static_cast<std::size_t>(i)]->launch;
    const unsigned next = launch.round + 1;
    reach(launch, next < kDone ? next : 1);
  }
  Outcome outcome{.lost = 0.0, .meetings = take_part(0)};
  for (int other = 1; other < threads; ++other) wait(context(0), other, kDone);
  for (int i = 0; i < threads; ++i) outcome.lost += arrivals[i].lost;
  return outcome;
}

void ThreadTeam::run(cpu::Kernel kernel, void* const* arguments, int threads) {
  std::unique_lock turn(turn_, std::defer_lock);
  if (threads > 1) turn.lock();  // one thread alone needs nothing of the team
  launch(kernel, arguments, threads);
}

void ThreadTeam::run_adapted(cpu::Kernel kernel, void* const* arguments, int parts) {
  const std::lock_guard turn(turn_);
  const double start = now();
  const Outcome outcome = launch(kernel, arguments, size_.of(parts));
  size_.count({.kernel = reinterpret_cast<std::uintptr_t>(kernel), .parts = parts}, now() - start, outcome.lost,
              outcome.meetings);
}

bool ThreadTeam::reduced() {
  const std::lock_guard turn(turn_);
  return size_.reduced();
}

}  // namespace heddle
