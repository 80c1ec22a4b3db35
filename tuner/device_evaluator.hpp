// The evaluator that asks the device itself.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "heddle/runtime/device/device.hpp"
#include "heddle/tuner/evaluator.hpp"
#include "heddle/tuner/held_contents.hpp"
#include "heddle/tuner/kept_contents.hpp"
#include "heddle/tuner/kernel_cache.hpp"
#include "heddle/tuner/verifier.hpp"

namespace heddle {

/// The problems of a grid share compiled kernels, also while these are being compiled.
class DeviceEvaluator final : public Evaluator {
 public:
  /// Throws Error(usage) if the family has no templates for the device. Device and family must outlive it.
  /// `cold_cache`: kernels are timed one unit of work at a time, with nothing of their data in the device's last-level
  /// cache. Then Error(usage) from prepare() for a device that does not say how large that is.
  DeviceEvaluator(Device& device, const KernelFamily& family, std::uint64_t seed, bool cold_cache = false);
  ~DeviceEvaluator() override;

  [[nodiscard]] const KernelFamily& family() const override { return family_; }
  [[nodiscard]] const DeviceIdentity& device() const override { return device_.identity(); }
  [[nodiscard]] Provenance provenance() const override;
  [[nodiscard]] bool shares_processor() const override { return device_.identity().backend != "cuda"; }
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
  /// How far the outputs of a defined kernel are from those of another configuration, as DefinedFamily::difference()
  /// says. Throws DeviceFailure, which says so if it is the reference that failed.
  [[nodiscard]] double difference(const Configuration& configuration, const Configuration& reference,
                                  const Problem& problem);

 private:
  class PendingCompilation;

  /// A plan, and what its buffers hold before it runs.
  struct Prepared {
    Plan plan;
    HeldContents contents;
  };

  [[nodiscard]] CompileRequest request(Kernels kernels) const;
  [[nodiscard]] Prepared prepared_trial(const Configuration& configuration, const Problem& problem,
                                        std::int64_t samples);
  /// An execution that was launched once, outputs and scratch poisoned before.
  [[nodiscard]] std::unique_ptr<Execution> after_one_launch(const Configuration& configuration, const Problem& problem);
  [[nodiscard]] std::unique_ptr<Runner> prepare_beside_kept(const Configuration& configuration, const Problem& problem,
                                                            std::int64_t samples);
  /// How runners of so many samples empty the cache; nothing where they do not.
  struct Eviction {
    std::shared_ptr<Memory> memory;
    std::int64_t repetitions = 0;  ///< runs that a time is the mean of
  };
  [[nodiscard]] Eviction eviction(std::int64_t samples);
  [[nodiscard]] std::shared_ptr<const Binary> binary(const Kernels& kernels);
  [[nodiscard]] Verdict unless_faulty(Verdict verdict);

  Device& device_;
  const KernelFamily& family_;
  std::uint64_t seed_;
  bool cold_cache_;
  std::shared_ptr<Memory> evictor_;  ///< larger than the cache; from the first cold measurement on
  KeptContents contents_;
  std::shared_ptr<KernelCache> kernels_;  ///< shared with compilations and verification
  Verifier verifier_;
};

}  // namespace heddle
