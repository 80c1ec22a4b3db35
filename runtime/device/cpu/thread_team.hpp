// Threads that wait for work together.
#pragma once

#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "heddle/kernels/common/cpu_launch.hpp"
#include "heddle/runtime/device/cpu/team_size.hpp"

namespace heddle {

/// Runs one kernel at a time on any number of threads; the caller's is thread 0. Threads start when first needed and
/// stay. run() and run_adapted() may be called from several threads: launches on more than one thread take turns.
class ThreadTeam {
 public:
  ThreadTeam();
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  /// Runs a launch on so many threads; returns when all are done.
  void run(cpu::Kernel kernel, void* const* arguments, int threads);
  /// Runs the `parts` of a launch on as many threads, or on fewer while other programs take their cores.
  void run_adapted(cpu::Kernel kernel, void* const* arguments, int parts);
  /// Whether launches of run_adapted() have fewer threads at present, other than for a trial. Waits for its turn.
  [[nodiscard]] bool reduced();
  /// Not while another thread may launch.
  [[nodiscard]] TeamSize& size() noexcept { return size_; }

 private:
  struct Worker;
  /// As TeamSize::count() takes them.
  struct Outcome {
    double lost = 0.0;
    unsigned meetings = 0;
  };
  Outcome launch(cpu::Kernel kernel, void* const* arguments, int threads);
  void grow(int threads);
  void work(Worker& worker);
  /// How often this thread has met the others.
  unsigned take_part(int thread);
  [[nodiscard]] cpu::LaunchContext context(int thread) const;

  std::mutex turn_;  ///< of everything below
  // The launch under way, written before `Worker::launch` tells of it.
  cpu::Kernel kernel_ = nullptr;
  void* const* arguments_ = nullptr;
  int threads_ = 0;
  double started_ = 0.0;  ///< seconds, as thread_team.cpp counts them
  /// Those of the last are in use. The ones before, smaller, stay: a thread that has told of its end may still be
  /// waking those who slept until then.
  std::vector<std::unique_ptr<cpu::Arrival[]>> arrivals_;
  int room_ = 0;  ///< in the last

  std::vector<std::unique_ptr<Worker>> workers_;  ///< worker i is thread i + 1
  TeamSize size_;
};

}  // namespace heddle
