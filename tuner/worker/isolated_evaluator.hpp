// An evaluator whose device is in another process, so that no fault of a kernel can end the search.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>

#include "heddle/runtime/device/cpu/scratch_folder.hpp"
#include "heddle/tuner/evaluator.hpp"
#include "heddle/tuner/worker/worker.hpp"

namespace heddle {

/// How long the worker may take to answer one question: `factor` times what the same work took before, but at least
/// `least`. Questions that run no kernel have 20 s in any case.
struct Deadlines {
  double factor = 50.0;
  double least = 2.0;     ///< seconds
  double first = 20.0;    ///< for the first run of a problem; more for large problems
  double verify = 300.0;  ///< for the first verification of a problem; most of it is the reference
  double compiler =
      300.0;  ///< for the compiler to finish one more configuration; the compiler's own deadline is shorter
};

/// Turns the end of the worker process into outcomes of configurations:
///
/// - If a kernel ends the worker, its configuration gets a DeviceFailure with a status: illegal_access, hang,
///   out_of_memory, crash.
/// - If the compiler crashes, the one configuration that makes it crash gets a failed compilation.
/// - A configuration that hangs is tried once more in a new process in which nothing is compiled. The retry is needed
///   because a recorded hang is final and an overloaded machine looks like one. Worker::ask() says what a hang is.
/// - Runners and compilations that were lost with the worker through no fault of their own are made again. The caller
///   does not notice. If the process was killed from outside, this holds for everything.
class IsolatedEvaluator final : public Evaluator {
 public:
  /// Throws Error(usage) if the family has no templates for the worker's device. The worker process knows the
  /// family by its name: it is built in, described in WorkerOptions::families, or added by the worker's program. Worker
  /// and family must outlive this, and this its runners and compilations.
  IsolatedEvaluator(Worker& worker, const KernelFamily& family, std::uint64_t seed, Deadlines deadlines = {});

  [[nodiscard]] const KernelFamily& family() const override { return family_; }
  [[nodiscard]] const DeviceIdentity& device() const override { return worker_.identity(); }
  [[nodiscard]] Provenance provenance() const override;
  [[nodiscard]] bool shares_processor() const override { return worker_.shares_processor(); }
  [[nodiscard]] std::unique_ptr<Compilation> compile(const std::vector<Configuration>& configurations,
                                                     const Problem& problem) override;
  [[nodiscard]] std::unique_ptr<Runner> prepare(const Configuration& configuration, const Problem& problem,
                                                std::int64_t samples) override;
  void check_device() override;
  [[nodiscard]] Verdict verify(const Configuration& configuration, const Problem& problem,
                               VerificationExtent extent) override;
  [[nodiscard]] Verdict verify_timed_run(const Configuration& configuration, const Problem& problem,
                                         std::int64_t samples, const Configuration& untuned) override;
  [[nodiscard]] HostImage outcome(const Configuration& configuration, const Problem& problem,
                                  const BufferNames& names) override;
  /// DeviceEvaluator::difference(), without bringing the outputs here.
  [[nodiscard]] double difference(const Configuration& configuration, const Configuration& reference,
                                  const Problem& problem);

 private:
  class RemoteRunner;
  class RemoteCompilation;
  enum class Job { prepare, time, verify_first_run, verify, verify_timed_run, outcome };

  /// Calls `ask`. Calls it again in a new process if the worker may have been lost for another reason.
  template <class Ask>
  auto attempt(Ask ask) const;
  /// Seconds that a question may take. `amount`: of work, in the unit of took(). `first`: the answer while no such job
  /// was done for this problem.
  [[nodiscard]] double deadline(Job job, const Problem& problem, double amount, double first) const;
  void took(Job job, const Problem& problem, double seconds_per_amount);
  void overran();
  /// The worker's answer to a question about a configuration, completed with family, seed and problem.
  [[nodiscard]] Verdict verdict(Job job, const Problem& problem, nlohmann::json question);

  Worker& worker_;
  const KernelFamily& family_;
  std::uint64_t seed_;
  Deadlines deadlines_;
  std::map<std::pair<Job, std::string>, double> known_seconds_;  ///< seconds per amount of work, by job and problem
  std::int64_t compiling_ = 0;                                   ///< compilations under way in the present process
  std::int64_t compiling_in_ = 0;                                ///< the generation of that process
  std::unique_ptr<const ScratchFolder> outcomes_;                ///< where the worker leaves what is large
};

}  // namespace heddle
