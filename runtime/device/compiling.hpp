// How a device has its kernels compiled.
#pragma once

#include <string>
#include <vector>

namespace heddle {

struct Compiling {
  /// Limit of a program of any number of kernels, seconds.
  static constexpr double kMostSeconds = 240.0;

  /// Seconds that the compiler may take for one kernel; a program of several kernels may take as much for each. Then
  /// the kernel counts as one that does not compile. Compilers that run inside this process cannot be stopped.
  double seconds = kMostSeconds;
  /// A program and its arguments that call run_compiler(). Compilers that are a library (NVRTC) then run in processes
  /// of their own, one for each thread that compiles: such a library does much of its work under one lock. Empty: they
  /// run in this process.
  std::vector<std::string> command = {};
};

/// A compiler in a process of its own: answers requests on `descriptor` until the other side closes it. Throws
/// Error(device) where there is no such compiler, and Error(usage) if the descriptor is no socket.
void run_compiler(int descriptor);

}  // namespace heddle
