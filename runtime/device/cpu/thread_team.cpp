#include "heddle/runtime/device/cpu/thread_team.hpp"

#include <sched.h>

namespace heddle {
namespace {

/// About 50 us: runs follow each other more closely than that.
constexpr int kSpins = 2000;

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

void yield() { ::sched_yield(); }

/// Waits until `value` is no longer `old`.
template <class T>
T changed(const std::atomic<T>& value, T old) {
  for (int i = 0; i < kSpins; ++i) {
    const T now = value.load(std::memory_order_acquire);
    if (now != old) return now;
    pause_briefly();
  }
  value.wait(old, std::memory_order_acquire);
  return value.load(std::memory_order_acquire);
}

}  // namespace

struct ThreadTeam::Worker {
  int thread = 0;
  alignas(64) std::atomic<int> launch{0};  ///< how many there were; -1: go
  std::thread handle;
};

ThreadTeam::ThreadTeam() = default;

ThreadTeam::~ThreadTeam() {
  for (const auto& worker : workers_) {
    worker->launch.store(-1, std::memory_order_release);
    worker->launch.notify_one();
  }
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

void ThreadTeam::part(int thread) const {
  kernel_({.thread = thread, .threads = threads_, .arrivals = arrivals_.get(), .yield = yield}, arguments_);
}

void ThreadTeam::work(Worker& worker) {
  for (int launch = 0;;) {
    launch = changed(worker.launch, launch);
    if (launch < 0) return;
    part(worker.thread);
    if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) busy_.notify_one();
  }
}

void ThreadTeam::run(cpu::Kernel kernel, void* const* arguments, int threads) {
  grow(threads);
  kernel_ = kernel;
  arguments_ = arguments;
  threads_ = threads;
  for (int i = 0; i < threads; ++i) arrivals_[static_cast<std::size_t>(i)].round = 0;
  busy_.store(threads - 1, std::memory_order_relaxed);
  for (int i = 0; i < threads - 1; ++i) {
    std::atomic<int>& launch = workers_[static_cast<std::size_t>(i)]->launch;
    const int last = launch.load(std::memory_order_relaxed);
    launch.store(last == 0x7fffffff ? 1 : last + 1, std::memory_order_release);
    launch.notify_one();
  }
  part(0);
  for (int left = busy_.load(std::memory_order_acquire); left != 0;) left = changed(busy_, left);
}

}  // namespace heddle
