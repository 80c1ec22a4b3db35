// Whether a configuration computes what the reference computes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "heddle/kernels/kernel_family.hpp"
#include "heddle/runtime/device/device.hpp"
#include "heddle/tuner/evaluator.hpp"

namespace heddle {

/// Carries out the verification of one family on one device (kernels/verification.hpp): outputs and scratch are filled
/// with NaN patterns before every stage, guards and inputs are looked at after it. A failure of the device is a
/// verdict, not an exception. A run that a configuration has been through is not repeated. From one thread at a time.
class Verifier {
 public:
  /// Compiles kernels of the family's source, or finds them. Throws DeviceFailure.
  using FindBinary = std::function<std::shared_ptr<const Binary>(const std::vector<std::string>& kernels)>;
  /// Without `find_binary`, every plan is compiled by itself. Device and family must outlive it.
  Verifier(Device& device, const KernelFamily& family, std::uint64_t seed, FindBinary find_binary = {});
  ~Verifier();
  Verifier(const Verifier&) = delete;
  Verifier& operator=(const Verifier&) = delete;

  /// The runs that belong to every problem on the problem's own shape, then all of them on an awkward one.
  [[nodiscard]] Verdict verify(const Configuration& configuration, const Problem& problem,
                               VerificationExtent extent = VerificationExtent::all);
  /// One of the runs on the problem's own shape, counted from 0 and around again. `repeat`: a second time, after which
  /// every bit must be the same.
  [[nodiscard]] Verdict verify_run(const Configuration& configuration, const Problem& problem, std::size_t run,
                                   bool repeat);
  /// Of the run that the configuration is timed with: repeated, it leaves the same bits; and it ends no more than four
  /// times as far from the reference as the untuned configuration does, both in float32. Where that one fails or is the
  /// one to be verified, no farther than rounding explains. A run so long that the untuned configuration has lost the
  /// reference (training is chaotic there) is compared earlier.
  [[nodiscard]] Verdict verify_timed_run(const Configuration& configuration, const Problem& problem,
                                         std::int64_t samples, const Configuration& untuned);
  /// The distances that verify_timed_run() compares, after `end` of `samples` samples: in units of what rounding
  /// explains. Nothing if the reference takes too long. Throws DeviceFailure.
  [[nodiscard]] std::optional<double> distance(const Configuration& configuration, const Problem& problem,
                                               std::int64_t samples, std::int64_t end);

 private:
  class Executions;

  [[nodiscard]] Verdict verdict_of(const Configuration& configuration, const Problem& problem, bool all);
  [[nodiscard]] Verdict judge(Executions& executions, const Configuration& configuration, const VerificationRun& run,
                              bool repeat);
  [[nodiscard]] std::optional<double> untuned_distance(const Configuration& untuned, const Problem& problem,
                                                       std::int64_t samples, std::int64_t end);

  Device& device_;
  const KernelFamily& family_;
  std::uint64_t seed_;
  FindBinary find_binary_;
  std::unique_ptr<Verification> verification_;
  std::map<std::string, Verdict> verdicts_;                 ///< by configuration and run
  std::map<std::string, std::optional<double>> distances_;  ///< of untuned configurations
};

/// What `launches` runs of a plan leave in all buffers that they write, but scratch: from `contents`, and with outputs
/// and scratch filled with NaN patterns. Throws DeviceFailure.
[[nodiscard]] HostImage outcome_of(Execution& execution, const HostImage& contents, int launches);

/// Compiles kernels when they first come. The device must outlive it; a DeviceFailure is passed on.
[[nodiscard]] RunOnDevice run_on(Device& device);

/// The problem whose sizes divide nothing on which to verify `configuration` beside `problem`. Every size becomes the
/// family's awkward one, or at least odd, where the configuration is allowed and needs no other kernels then. If that
/// changes nothing: nothing where some size is odd already (and not 1), since `problem` is awkward itself; else the
/// family's awkward problem, or the problem with every size made odd, wherever the configuration is allowed. Nothing if
/// it is not.
[[nodiscard]] std::optional<Problem> awkward_problem(const KernelFamily& family, const DeviceIdentity& device,
                                                     const Configuration& configuration, const Problem& problem);

}  // namespace heddle
