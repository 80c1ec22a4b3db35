// The interface between the CPU device and a kernel, and how the threads of one launch wait for each other. Compiled at
// run time too: no other header is included.
#pragma once

namespace heddle::cpu {

/// How far one thread of a team is; a cache line of its own.
struct alignas(64) Arrival {
  unsigned round;     ///< meetings this thread has reached; 0 before the launch. Written by this thread alone
  unsigned sleepers;  ///< other threads that sleep until `round` changes
  // The following is for the CPU device alone. Times in seconds.
  int core;      ///< this thread was seen on it last
  double slept;  ///< during this launch
  double lost;   ///< during this launch: without a core though there was work, or waking others
  double woke;   ///< when this thread last woke the sleepers
  double moved;  ///< when this thread last went to another core
};

/// One thread of a team that runs one launch.
struct LaunchContext {
  int thread;         ///< 0 <= thread < threads
  int threads;        ///< at most Launch::grid.x
  Arrival* arrivals;  ///< one per thread
  /// Waits until thread `other` has reached `round`, and sleeps if that takes long: another program may have the core
  /// of that thread, and the core of a thread that sleeps is free for it.
  void (*wait)(const LaunchContext& context, int other, unsigned round);
  void (*wake)(Arrival& own);  ///< wakes the sleepers
};

/// The signature of all kernels. `arguments[i]`: where the i-th argument of the launch lies; a buffer's own address, or
/// that of a value of the type that the launch gives. Its results do not depend on `threads`: the work is divided into
/// Launch::grid.x parts, and thread t does the parts t, t + threads, t + 2 threads, ...
using Kernel = void (*)(const LaunchContext& context, void* const* arguments);

// Unnamed, so that objects compiled for different instruction sets keep their own code.
namespace {

/// Waits until every thread of the launch has called meet() for round `round`: 1, 2, 3, ... The writes of a thread
/// before it are then visible to all. A thread may be one round ahead of another, never two.
[[maybe_unused]] void meet(const LaunchContext& context, unsigned round) {
  if (context.threads == 1) return;
  Arrival& mine = context.arrivals[context.thread];
  // Sequentially consistent: a thread that is about to sleep counts itself first and then reads `round` once more.
  // Either it sees the new round, or it is counted here and woken.
  __atomic_store_n(&mine.round, round, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&mine.sleepers, __ATOMIC_SEQ_CST) != 0) context.wake(mine);
  constexpr int kSpins = 100;  // longer than the threads of a step differ where each has a core
  for (int other = 0; other < context.threads; ++other) {
    for (int spins = 0; static_cast<int>(__atomic_load_n(&context.arrivals[other].round, __ATOMIC_ACQUIRE) - round) < 0;
         ++spins) {
      if (spins == kSpins) {
        context.wait(context, other, round);
        break;
      }
#if defined(__x86_64__) || defined(__i386__)
      __builtin_ia32_pause();
#elif defined(__aarch64__)
      asm volatile("yield");
#endif
    }
  }
}

}  // namespace
}  // namespace heddle::cpu
