// The evaluator that answers from a recording, in virtual time.
#pragma once

#include <memory>

#include "heddle/tuner/evaluator.hpp"
#include "heddle/tuner/replay/recorded_family.hpp"

namespace heddle {

/// Compiling and running take the time that was recorded, on a clock of virtual seconds.
class ReplayEvaluator final : public Evaluator {
 public:
  /// `recording` must outlive it. `now`: seconds, moved on by whatever takes time.
  ReplayEvaluator(const RecordedFamily& recording, std::shared_ptr<double> now);

  [[nodiscard]] const KernelFamily& family() const override { return recording_; }
  [[nodiscard]] const DeviceIdentity& device() const override { return device_; }
  [[nodiscard]] Provenance provenance() const override;
  [[nodiscard]] bool shares_processor() const override { return true; }
  [[nodiscard]] std::unique_ptr<Compilation> compile(const std::vector<Configuration>& configurations,
                                                     const Problem& problem) override;
  [[nodiscard]] std::unique_ptr<Runner> prepare(const Configuration& configuration, const Problem& problem,
                                                std::int64_t samples) override;
  void check_device() override {}
  [[nodiscard]] Verdict verify(const Configuration& configuration, const Problem& problem,
                               VerificationExtent extent) override;
  /// Whatever the recording says was right is right.
  [[nodiscard]] Verdict verify_timed_run(const Configuration&, const Problem&, std::int64_t,
                                         const Configuration&) override {
    return {};
  }

 private:
  const RecordedFamily& recording_;
  DeviceIdentity device_;
  std::shared_ptr<double> now_;
};

}  // namespace heddle
