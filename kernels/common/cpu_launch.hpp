// What the CPU device tells a kernel, and how the threads of one launch wait for each other. Compiled at run time too:
// no other header is included.
#pragma once

namespace heddle::cpu {

/// Written by one thread alone; a cache line of its own.
struct alignas(64) Arrival {
  unsigned round;  ///< meetings this thread has reached; 0 before the launch
};

/// One thread of a team that runs one launch.
struct LaunchContext {
  int thread;         ///< 0 <= thread < threads
  int threads;        ///< Launch::grid.x
  Arrival* arrivals;  ///< one per thread
  void (*yield)();    ///< lets another thread have the core
};

/// What a kernel is. `arguments[i]`: where the i-th argument of the launch lies; a buffer's own address, or that of an
/// int or a float.
using Kernel = void (*)(const LaunchContext& context, void* const* arguments);

// Unnamed, so that objects compiled for different instruction sets keep their own code.
namespace {

/// Waits until every thread of the launch has called meet() for round `round`: 1, 2, 3, ... What a thread wrote before
/// is then visible to all. A thread may be one round ahead of another, never two.
[[maybe_unused]] void meet(const LaunchContext& context, unsigned round) {
  __atomic_store_n(&context.arrivals[context.thread].round, round, __ATOMIC_RELEASE);
  for (int other = 0; other < context.threads; ++other) {
    int spins = 0;
    while (static_cast<int>(__atomic_load_n(&context.arrivals[other].round, __ATOMIC_ACQUIRE) - round) < 0) {
      // Long enough for the slowest thread of a step; after that somebody else needs the core to get on.
      if (++spins > 500) {
        context.yield();
        continue;
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
