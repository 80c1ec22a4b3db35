// Threads that wait for work together.
#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "heddle/kernels/common/cpu_launch.hpp"

namespace heddle {

/// Runs one kernel at a time on any number of threads; the caller's is thread 0. Threads start when first needed and
/// stay. One launch at a time.
class ThreadTeam {
 public:
  ThreadTeam();
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  /// Returns when every thread is done.
  void run(cpu::Kernel kernel, void* const* arguments, int threads);

 private:
  struct Worker;
  void grow(int threads);
  void work(Worker& worker);
  void part(int thread) const;

  // The launch under way, written before `Worker::launch` tells of it.
  cpu::Kernel kernel_ = nullptr;
  void* const* arguments_ = nullptr;
  int threads_ = 0;
  std::unique_ptr<cpu::Arrival[]> arrivals_;
  int room_ = 0;  ///< arrivals

  std::vector<std::unique_ptr<Worker>> workers_;  ///< worker i is thread i + 1
  std::atomic<int> busy_{0};
};

}  // namespace heddle
