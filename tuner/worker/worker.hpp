// The worker process as the tuner sees it: it answers questions, may be lost, and is started again.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "heddle/kernels/device_identity.hpp"
#include "heddle/kernels/family_registry.hpp"
#include "heddle/kernels/stop.hpp"
#include "heddle/profiles/status.hpp"
#include "heddle/runtime/device/compiling.hpp"
#include "heddle/runtime/process/channel.hpp"
#include "heddle/runtime/process/child_process.hpp"

namespace heddle {

/// The process ended, hung or ran out of memory while it was asked something. The next question starts a new one.
class WorkerLost : public std::runtime_error {
 public:
  WorkerLost(Status status, const std::string& what, bool from_outside)
      : std::runtime_error(what), status_(status), from_outside_(from_outside) {}
  [[nodiscard]] Status status() const noexcept { return status_; }
  /// The process was killed from outside, not by the work that it did.
  [[nodiscard]] bool from_outside() const noexcept { return from_outside_; }

 private:
  Status status_;
  bool from_outside_;
};

struct WorkerOptions {
  /// The program and arguments that run serve() of worker/serve.hpp.
  std::vector<std::string> command{"/proc/self/exe", "worker"};
  std::string device;  ///< label, as open_device() takes it
  /// FamilyRegistry::descriptions(): each new process makes these families beside those that its program knows.
  std::vector<FamilyDescription> families = {};
  std::int64_t memory_bytes = 0;  ///< more in memory is out of memory; 0: nine tenths of what is left when it starts
  double start_seconds = 60.0;
  double compile_seconds = Compiling::kMostSeconds;  ///< Compiling::seconds
  bool cold_cache = false;                           ///< DeviceEvaluator's
  Stop stop = {};                                    ///< ends every wait: the process is killed then
};

/// Holds one device in one process; several families may use it. From the thread that made it, but for what is known of
/// the device.
class Worker {
 public:
  // Functions that wait throw Interrupted as soon as WorkerOptions::stop returns true.

  /// Starts the process, which opens the device. Throws Error(device), and Error(usage) if its program has no maker for
  /// a family that is described.
  explicit Worker(WorkerOptions options);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  [[nodiscard]] const std::string& label() const noexcept { return label_; }
  [[nodiscard]] const DeviceIdentity& identity() const noexcept { return identity_; }
  [[nodiscard]] const std::string& remark() const noexcept { return remark_; }
  [[nodiscard]] bool shares_processor() const noexcept { return shares_processor_; }

  /// How often a compiler was called, as far as the processes reported it before they ended.
  [[nodiscard]] std::int64_t compiler_calls() const noexcept { return calls_before_ + calls_; }

  /// Number of the present process; grows by one whenever a process ends. Objects in an earlier process are lost.
  [[nodiscard]] std::int64_t generation() const noexcept { return generation_; }
  [[nodiscard]] pid_t process() const noexcept { return process_ ? process_->id() : -1; }

  /// One question and its answer, within so many seconds. Where kernels share the processor with other programs, the
  /// busiest thread of the process has to have got as many before it counts as hanging; it is given up after
  /// kMostPatience times as many all the same, with a line of which is_starvation() is true.
  /// Throws WorkerLost; DeviceFailure and Error as the worker threw them; Interrupted, too, if `stop` says so.
  nlohmann::json ask(const nlohmann::json& question, double seconds, const Stop& stop = {});
  static constexpr double kMostPatience = 5.0;
  /// Sends a message that has no answer. If the worker is lost, the next question finds out.
  void tell(const nlohmann::json& message) noexcept;
  /// The next question starts a new process.
  void retire() noexcept;
  /// Starts a process unless one is running. Throws Error(device) if none can open the device any more, or if its label
  /// has become another card's, which happens when the driver loses one and counts anew.
  void ensure();
  /// A new number by which later messages refer to an object in the worker.
  [[nodiscard]] std::int64_t next_number() noexcept { return ++numbers_; }

 private:
  void start();
  /// ask() of the process that there is; the seconds count by the clock, or as ask() says, by the processor.
  enum class Judge : std::uint8_t { clock, processor };
  nlohmann::json exchange(const nlohmann::json& question, double seconds, Judge judge, const Stop& stop = {});
  /// `hang`: says why an answer came too late.
  [[nodiscard]] WorkerLost lost(const ChannelError& error, const std::string& hang);

  WorkerOptions options_;
  std::string label_, remark_;
  std::optional<std::string> unit_;  ///< Device::unit() of the first process
  DeviceIdentity identity_;
  bool shares_processor_ = false;
  std::unique_ptr<ChildProcess> process_;
  std::optional<Channel> channel_;
  std::int64_t memory_limit_ = 0;
  std::int64_t generation_ = 1;
  std::int64_t numbers_ = 0;
  std::int64_t calls_before_ = 0;  ///< of earlier processes
  std::int64_t calls_ = 0;
};

}  // namespace heddle
