// NVRTC in processes of its own, so that many programs are compiled at the same time.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "heddle/runtime/device/cuda/nvrtc.hpp"
#include "heddle/runtime/device/program_batch.hpp"

namespace heddle {

/// Processes that compile, started when they are needed and kept for later programs. They end with this object; if this
/// process dies, they notice that their socket is closed. Thread-safe.
class CompilerProcesses {
 public:
  /// `command`: Compiling::command. `nvrtc`: the library that they open. `threads`: that compile at the same time, and
  /// share the memory.
  CompilerProcesses(std::vector<std::string> command, const Nvrtc& nvrtc, unsigned threads);
  ~CompilerProcesses();
  CompilerProcesses(const CompilerProcesses&) = delete;
  CompilerProcesses& operator=(const CompilerProcesses&) = delete;

  /// Compiles in an idle process, or in a new one. A program that takes longer than `input.seconds`, more memory than
  /// there is, or that crashes the compiler twice, has not compiled; the log says why. Throws Error(device) if no
  /// process can be started, and Interrupted.
  [[nodiscard]] ProgramResult compile(const ProgramInput& input, const std::vector<std::string>& words,
                                      const std::stop_token& stop);

 private:
  class Process;
  [[nodiscard]] std::unique_ptr<Process> take();
  void give_back(std::unique_ptr<Process> process);

  const std::vector<std::string> command_;
  const std::string library_;
  const std::int64_t most_bytes_;  ///< of memory, for each process
  std::mutex mutex_;
  std::vector<std::unique_ptr<Process>> idle_;
};

}  // namespace heddle
