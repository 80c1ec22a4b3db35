// How a defined kernel is verified: against its reference, or by the program that defined it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/kernels/own/defined_family.hpp"
#include "heddle/kernels/recent.hpp"
#include "heddle/kernels/verification.hpp"

namespace heddle {

/// One run of one launch. Its outputs have to be those of the reference (KernelReference; what of it is computed, on
/// the same device), within the definition's tolerances; where the program checks them itself, only guards and inputs
/// are looked at here.
class DefinedVerification final : public Verification {
 public:
  DefinedVerification(const DefinedFamily& family, DeviceIdentity device, std::uint64_t seed, RunOnDevice run);

  [[nodiscard]] Runs runs(const Configuration& configuration, const Problem& problem) override;
  /// None: what repeated launches leave is compared with what the untuned configuration leaves.
  [[nodiscard]] std::optional<TimedRun> timed_run(const Configuration&, const Problem&, std::int64_t,
                                                  std::int64_t) override {
    return std::nullopt;
  }
  [[nodiscard]] bool compares_ends() const override { return !family_.checked_elsewhere(); }
  /// In units of the tolerance.
  [[nodiscard]] std::optional<double> difference(const Problem& problem, std::int64_t samples, const TimedEnd& found,
                                                 const TimedEnd& expected) override;

 private:
  [[nodiscard]] Accuracy judged(const HostImage& after, const Configuration& configuration, const Problem& problem);
  [[nodiscard]] SharedImage before(const Configuration& configuration, const Problem& problem) const;
  [[nodiscard]] std::shared_ptr<const HostImage> expected(const Problem& problem);
  [[nodiscard]] std::string_view against() const;
  /// Judges whether outputs were written, where they hold the poison of before the launch: a launch over another poison
  /// tells what is a result of that value. Accepted with a message where the reference leaves the same elements.
  [[nodiscard]] Accuracy judged_as_written(const HostImage& after, const Configuration& configuration,
                                           const Problem& problem);
  /// Of every output that holds poison, which elements hold it still after a launch of `plan` over another one.
  using Unwritten = std::map<std::string, std::vector<bool>>;
  [[nodiscard]] Unwritten unwritten(const HostImage& after, const TemplateSource& source, const Plan& plan,
                                    const HostImage& before) const;
  [[nodiscard]] const Unwritten& unwritten_by_reference(const Problem& problem);
  /// The name of an inout buffer that holds what it held before the launch. A kernel that does nothing at all leaves
  /// that with every configuration, so only a reference from outside could tell.
  [[nodiscard]] std::optional<std::string> unchanged(const HostImage& after, const Configuration& configuration,
                                                     const Problem& problem) const;

  const DefinedFamily& family_;
  DeviceIdentity device_;
  std::uint64_t seed_;
  RunOnDevice run_;
  std::map<std::string, Unwritten> unwritten_by_reference_;  ///< by problem; only where a configuration raises doubts
  Recent<const HostImage> expected_;  ///< by problem: mostly the one that is tuned, and one of awkward sizes
};

}  // namespace heddle
