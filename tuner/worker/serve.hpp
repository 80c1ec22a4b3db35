// The worker process: answers the tuner's questions.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "heddle/kernels/family_registry.hpp"
#include "heddle/runtime/device/device.hpp"

namespace heddle {

/// Compiling::command of a program whose main() calls run_worker(), and of `heddle`.
[[nodiscard]] std::vector<std::string> own_compiler();

/// Where a worker takes devices and families from; tests have their own.
struct WorkerWorld {
  std::function<std::unique_ptr<Device>(const std::string& label, const Compiling& compiling)> open = open_device;
  /// What the program knows. To these the worker adds the families that the first message describes
  /// (WorkerOptions::families); their makers have to be registered here.
  FamilyRegistry families = builtin_families();
  /// Compiling::command: starts this program again as a compiler. Empty: the worker compiles in its own threads.
  std::vector<std::string> compiler = {};
};

/// Answers questions on `descriptor` until the other side closes it. Throws Error(usage) if it is no socket, and
/// Error(input) at the first bytes that are no message, since nothing after them can be understood. A question that
/// makes no sense is answered with an error.
void serve(int descriptor, const WorkerWorld& world = {});

/// For the first line of main() of a program that tunes, so that it can be its own worker:
///
///     if (const auto code = heddle::run_worker(argc, argv)) return *code;
///
/// If this process was started as a worker (WorkerOptions::command) or by a worker as a compiler, answers questions
/// until they end and returns the exit code of the program. Otherwise returns nothing at once.
[[nodiscard]] std::optional<int> run_worker(int argc, char** argv, const WorkerWorld& world = {});
/// Whether run_worker() was called: without it, this program started as a worker would begin to tune in turn.
[[nodiscard]] bool can_run_worker();

}  // namespace heddle
