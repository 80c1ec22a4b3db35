// Compiles, times and verifies configurations for the tuner: on a device, and wherever else an answer can come from.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "heddle/kernels/kernel_family.hpp"
#include "heddle/kernels/stop.hpp"
#include "heddle/profiles/measurement.hpp"

namespace heddle {

/// One configuration made ready to be timed again and again for one problem.
class Runner {
 public:
  virtual ~Runner() = default;
  /// Microseconds per sample of one repetition, from the initial state, restored outside the clock. Throws
  /// DeviceFailure; Interrupted where a repetition can be given up and `stop` says so.
  [[nodiscard]] virtual double time(const Stop& stop) = 0;
  [[nodiscard]] double time() { return time({}); }
  /// The same over many repetitions while another program keeps one unit of the device busy, which is started for this
  /// measurement alone. Nothing where a program has all units to itself.
  [[nodiscard]] virtual std::optional<double> contended_time() { return std::nullopt; }
  /// Throws DeviceFailure(overrun) if something was written behind a buffer.
  virtual void check_guards() = 0;
};

/// Configurations being compiled. Destroying it drops those that were not started, and where the compiler is a program,
/// ends it.
class Compilation {
 public:
  struct Done {
    std::size_t index = 0;  ///< in the list given to Evaluator::compile()
    bool compiled = false;
    double seconds = 0.0;  ///< of the compiler; 0 if the code was there
    std::string log;       ///< of the compiler, when it failed
  };
  virtual ~Compilation() = default;
  /// The next one that is done, in any order; waits. Nothing after the last. Throws Interrupted as soon as `stop` says
  /// so, and can be called again then.
  [[nodiscard]] virtual std::optional<Done> next(const Stop& stop) = 0;
  [[nodiscard]] std::optional<Done> next() { return next({}); }
  /// Starts nothing more: next() gives what is under way, and nothing of the rest.
  virtual void wind_up() = 0;
};

/// How a verification ended.
struct Verdict {
  Status status = Status::correct;  ///< correct, or the way it failed
  double worst_error = 0.0;
  std::string message;  ///< one line; empty if correct
};

/// How much of the verification.
enum class VerificationExtent {
  first_runs,  ///< one on each shape: what finds most
  all,         ///< what every winner has to pass
};

/// For one family on one device. From one thread at a time. Whatever waits may throw Interrupted when the user has
/// asked to stop.
class Evaluator {
 public:
  virtual ~Evaluator() = default;
  [[nodiscard]] virtual const KernelFamily& family() const = 0;
  [[nodiscard]] virtual const DeviceIdentity& device() const = 0;
  /// Date and clocks as of now.
  [[nodiscard]] virtual Provenance provenance() const = 0;
  /// Compiling and measuring need the same processor: never do both at once.
  [[nodiscard]] virtual bool shares_processor() const = 0;
  /// Threads that compile at a time: one for each processor of this machine.
  [[nodiscard]] virtual std::size_t compiler_threads() const {
    return std::max<std::size_t>(1, std::thread::hardware_concurrency());
  }

  /// Starts to compile what `configurations` need for `problem`. Several compilations may be under way.
  [[nodiscard]] virtual std::unique_ptr<Compilation> compile(const std::vector<Configuration>& configurations,
                                                             const Problem& problem) = 0;
  /// For a configuration that was compiled. One run of the Runner takes `samples` samples. Throws DeviceFailure.
  [[nodiscard]] virtual std::unique_ptr<Runner> prepare(const Configuration& configuration, const Problem& problem,
                                                        std::int64_t samples) = 0;
  /// After a failure that may have taken the device with it: throws Error(device) if nothing can be run any more.
  virtual void check_device() = 0;
  /// For a configuration that was compiled: compares it with the reference on the problem's own shape and on an
  /// awkward one, outputs and scratch poisoned before, guards looked at after.
  [[nodiscard]] virtual Verdict verify(const Configuration& configuration, const Problem& problem,
                                       VerificationExtent extent) = 0;
  /// For a configuration that was compiled: compares what a timed run of so many samples leaves with the reference, by
  /// what the untuned configuration leaves, and with what it leaves when it is repeated.
  [[nodiscard]] virtual Verdict verify_timed_run(const Configuration& configuration, const Problem& problem,
                                                 std::int64_t samples, const Configuration& untuned) = 0;
};

}  // namespace heddle
