// The evaluator that asks a device in another process, so that nothing a kernel does can end the search.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>

#include "heddle/tuner/evaluator.hpp"
#include "heddle/tuner/worker/worker.hpp"

namespace heddle {

/// How long the worker may take over one question. Long waits are cut at `factor` times what the same took before, or
/// at `least`, whichever is longer. What runs no kernel has 20 s in any case.
struct Deadlines {
  double factor = 50.0;
  double least = 2.0;       ///< seconds
  double first = 20.0;      ///< of a run that is the first for its problem, but more where there is much to do
  double verify = 300.0;    ///< of a first verification, of which the reference takes the most
  double compiler = 300.0;  ///< until the compiler is done with one more configuration; it gives up itself before
};

/// What ends the worker becomes a DeviceFailure of the configuration that was in it, with its status: illegal_access,
/// hang, out_of_memory, crash; a compiler that crashes becomes a refused compilation of the one configuration that
/// makes it crash. Who hangs is asked once more in a new process, without compilations beside it: a failure is never
/// tried again later, and a machine that had no time to answer looks the same. What a worker takes with it that is not
/// to blame (other runners, compilations under way, everything if somebody else killed it) is made anew without the
/// caller seeing it.
class IsolatedEvaluator final : public Evaluator {
 public:
  /// Throws Error(usage) if the family has no templates for the worker's device. The worker knows the family by its
  /// name. Worker and family must outlive this, and this its runners and compilations.
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

 private:
  class RemoteRunner;
  class RemoteCompilation;
  enum class Work { prepare, time, verify_first_run, verify, verify_timed_run };

  /// Asks by `ask`, which is called again, in a new process, if the worker may have been lost to something else.
  template <class Ask>
  auto attempt(Ask ask) const;
  /// `first`: as long as nothing is known.
  [[nodiscard]] double deadline(Work work, const Problem& problem, double amount, double first) const;
  void took(Work work, const Problem& problem, double seconds_per_amount);
  void overran();
  /// The worker's answer to a question about a configuration, completed with family, seed and problem.
  [[nodiscard]] Verdict verdict(Work work, const Problem& problem, nlohmann::json question);

  Worker& worker_;
  const KernelFamily& family_;
  std::uint64_t seed_;
  Deadlines deadlines_;
  std::map<std::pair<Work, std::string>, double> usual_;  ///< seconds per amount of work, by problem
  std::int64_t compiling_ = 0;                            ///< compilations under way in the present process
  std::int64_t compiling_in_ = 0;                         ///< the generation of that process
};

}  // namespace heddle
