// Compiles, times and verifies configurations for the tuner: on a device, and wherever else an answer can come from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/kernel_family.hpp"
#include "heddle/kernels/kernel_version.hpp"
#include "heddle/kernels/stop.hpp"
#include "heddle/kernels/usable_cores.hpp"
#include "heddle/profiles/kernel_resources.hpp"
#include "heddle/profiles/provenance.hpp"
#include "heddle/profiles/status.hpp"

namespace heddle {

/// One configuration made ready to be timed again and again for one problem.
class Runner {
 public:
  virtual ~Runner() = default;
  /// Microseconds per sample of one repetition, from the initial state, restored outside the clock. Throws
  /// DeviceFailure; Interrupted where a repetition can be given up and `stop` says so.
  [[nodiscard]] virtual double time(const Stop& stop) = 0;
  [[nodiscard]] double time() { return time({}); }
  /// The same while another program keeps one core busy, over many repetitions. That program is started for this
  /// measurement alone. Nothing on devices that programs do not share in this way.
  [[nodiscard]] virtual std::optional<double> busy_core_time() { return std::nullopt; }
  /// Of the kernels that it launches; nothing where the device does not say.
  [[nodiscard]] virtual std::optional<KernelResources> resources() { return std::nullopt; }
  /// Joules per sample, over so many repetitions that the device's counter can be read to 1 %: about a second. Nothing
  /// where the device has no counter of energy. Throws DeviceFailure.
  [[nodiscard]] virtual std::optional<double> energy() { return std::nullopt; }
  /// Throws DeviceFailure(overrun) if a kernel wrote behind a buffer.
  virtual void check_guards() = 0;
};

/// Configurations being compiled. Its destructor drops those that were not started. A compiler that is a separate
/// program is ended.
class Compilation {
 public:
  struct Done {
    std::size_t index = 0;  ///< in the list given to Evaluator::compile()
    bool compiled = false;
    double seconds = 0.0;  ///< of the compiler; 0 if the code was there
    std::string log;       ///< of the compiler, when it failed
  };
  virtual ~Compilation() = default;
  /// Waits for the next configuration to be compiled, in any order. Nothing after the last. Throws Interrupted as soon
  /// as `stop` returns true; it can then be called again.
  [[nodiscard]] virtual std::optional<Done> next(const Stop& stop) = 0;
  [[nodiscard]] std::optional<Done> next() { return next({}); }
  /// Whether everything is compiled, so that next() does not wait any more.
  [[nodiscard]] virtual bool done() = 0;
  /// Starts no further compilation: next() then returns only those in flight.
  virtual void wind_up() = 0;
};

/// How a verification ended.
struct Verdict {
  Status status = Status::correct;  ///< correct, or the way it failed
  double worst_error = 0.0;
  std::string message;  ///< one line; a remark if correct
};

/// How much of the verification to do.
enum class VerificationExtent {
  one_run,  ///< the first one, on the problem's own shape: finds most faults
  all,      ///< all runs that a winner has to pass
};

/// Compiles, times and verifies the configurations of one family on one device. From one thread at a time; family() and
/// device() at any time from others. Functions that wait may throw Interrupted after the user asked to stop.
class Evaluator {
 public:
  virtual ~Evaluator() = default;
  [[nodiscard]] virtual const KernelFamily& family() const = 0;
  [[nodiscard]] virtual const DeviceIdentity& device() const = 0;
  /// Which version of the family's kernels is measured; worked out at the first call.
  [[nodiscard]] const KernelVersion& kernels() const {
    if (!kernels_) kernels_ = kernel_version(family(), device());
    return *kernels_;
  }
  /// Date and clocks as of now.
  [[nodiscard]] virtual Provenance provenance() const = 0;
  /// Whether compiling and measuring need the same processor, so that they must not happen at the same time.
  [[nodiscard]] virtual bool shares_processor() const = 0;
  /// Threads that compile at a time: one for each core that this process may use.
  [[nodiscard]] virtual std::size_t compiler_threads() const { return usable_cores(); }

  /// Starts to compile the kernels of `configurations` for `problem`. Several compilations may be in flight.
  [[nodiscard]] virtual std::unique_ptr<Compilation> compile(const std::vector<Configuration>& configurations,
                                                             const Problem& problem) = 0;
  /// For a compiled configuration: a Runner whose repetitions have `samples` samples each. Throws DeviceFailure.
  [[nodiscard]] virtual std::unique_ptr<Runner> prepare(const Configuration& configuration, const Problem& problem,
                                                        std::int64_t samples) = 0;
  /// After a failure that may have taken the device down: throws Error(device) if the device is unusable.
  virtual void check_device() = 0;
  /// For a compiled configuration: compares its results with the reference, on the problem's own shape and on an
  /// awkward one. Outputs and scratch are filled with NaN before, guards are checked after.
  [[nodiscard]] virtual Verdict verify(const Configuration& configuration, const Problem& problem,
                                       VerificationExtent extent) = 0;
  /// For a compiled configuration: checks a run as long as a timed repetition. Repeated, it must leave the same bits,
  /// and its result must not be much farther from the reference than that of `untuned`.
  [[nodiscard]] virtual Verdict verify_timed_run(const Configuration& configuration, const Problem& problem,
                                                 std::int64_t samples, const Configuration& untuned) = 0;
  /// The parameters, states and outputs that a run of one sample leaves, from the contents of KernelFamily::trial() and
  /// outputs full of NaN patterns. `names`: only these of them; empty: all. Throws DeviceFailure; Error(bug) where
  /// nothing runs.
  [[nodiscard]] virtual HostImage outcome(const Configuration&, const Problem&, const BufferNames& names) {
    static_cast<void>(names);
    throw Error(ErrorKind::bug, "nothing runs here whose outcome could be looked at");
  }

 private:
  mutable std::optional<KernelVersion> kernels_;
};

}  // namespace heddle
