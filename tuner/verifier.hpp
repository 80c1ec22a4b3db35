// Whether a configuration computes what the reference computes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "heddle/kernels/kernel_family.hpp"
#include "heddle/runtime/device/device.hpp"
#include "heddle/tuner/evaluator.hpp"
#include "heddle/tuner/held_contents.hpp"
#include "heddle/tuner/kept_contents.hpp"
#include "heddle/tuner/kernel_cache.hpp"

namespace heddle {

/// Carries out the verification of one family on one device (kernels/verification.hpp). Outputs and scratch are filled
/// with NaN patterns before every stage; guards and inputs are checked after it. A failure of the device becomes a
/// verdict, not an exception. A verification run that a configuration has passed or failed is not repeated. From one
/// thread at a time.
class Verifier {
 public:
  /// Finds compiled kernels of the family's source, or compiles them. Throws DeviceFailure.
  using FindBinary = std::function<std::shared_ptr<const Binary>(const Kernels& kernels)>;
  /// Without `find_binary`, every plan is compiled by itself. `kernels`: where the kernels of references on the device
  /// go; a cache of its own if there is none. Device and family must outlive it.
  Verifier(Device& device, const KernelFamily& family, std::uint64_t seed, FindBinary find_binary = {},
           std::shared_ptr<KernelCache> kernels = nullptr);
  ~Verifier();
  Verifier(const Verifier&) = delete;
  Verifier& operator=(const Verifier&) = delete;

  /// Verifies on the problem's own shape, and on its awkward_problem(), by `extent`:
  ///
  /// - all: the essential runs on the own shape, then the thorough runs on the awkward shape. If there is no awkward
  ///   shape, the thorough runs on the own shape (Verification::Runs).
  /// - one_run: the first run on the own shape.
  [[nodiscard]] Verdict verify(const Configuration& configuration, const Problem& problem,
                               VerificationExtent extent = VerificationExtent::all);
  /// Does one verification run on the problem's own shape. `check_index`: which, from 0, modulo their number. `repeat`:
  /// does it twice and requires the same bits.
  [[nodiscard]] Verdict verify_run(const Configuration& configuration, const Problem& problem, std::size_t check_index,
                                   bool repeat);
  /// Checks a run as long as a timed repetition:
  ///
  /// - Repeated, it must leave the same bits.
  /// - It may be at most four times as far from the reference as the untuned configuration. If the untuned one fails,
  /// or
  ///   is the one to be verified, it may be at most as far as rounding explains. An earlier point of the run is
  ///   compared where the reference takes long, and where the reference itself says that training is chaotic.
  /// - It must end where the untuned configuration ends. If it does not, the reference decides, however long it takes.
  ///
  /// `kept`: what the buffers hold before the run, where that is on the device.
  [[nodiscard]] Verdict verify_timed_run(const Configuration& configuration, const Problem& problem,
                                         std::int64_t samples, const Configuration& untuned,
                                         const KeptContents::Buffers* kept = nullptr);
  /// The distance from the reference that verify_timed_run() compares, after `end` of `samples` samples. Its unit is
  /// the distance that rounding explains. Nothing if the reference takes too long. Throws DeviceFailure.
  [[nodiscard]] std::optional<double> rounding_distance(const Configuration& configuration, const Problem& problem,
                                                        std::int64_t samples, std::int64_t end);

 private:
  class Executions;
  class Timed;

  /// The outcome of a comparison of a timed run with the reference.
  struct Compared {
    Verdict verdict;
    std::int64_t end = 0;  ///< samples after which they were compared; 0: not at all, the reference takes too long
    bool chaotic = false;  ///< whether training was chaotic after more samples
  };

  [[nodiscard]] Verdict verdict_of(const Configuration& configuration, const Problem& problem, bool thorough);
  [[nodiscard]] Verdict judge(Executions& executions, const Configuration& configuration, const VerificationRun& run,
                              bool repeat);
  [[nodiscard]] std::optional<double> untuned_distance(const Configuration& untuned, const Problem& problem,
                                                       std::int64_t samples, std::int64_t end);
  [[nodiscard]] Compared compare_with_reference(Timed& timed, const Configuration& untuned, std::int64_t end);
  [[nodiscard]] std::optional<double> difference_from_untuned(Timed& timed, const Configuration& untuned);

  Device& device_;
  const KernelFamily& family_;
  std::uint64_t seed_;
  FindBinary find_binary_;
  std::shared_ptr<KernelCache> kernels_;
  std::unique_ptr<Verification> verification_;
  std::shared_ptr<KernelCache::Batch> reference_kernels_;   ///< compiled first of all
  std::map<std::string, Verdict> verdicts_;                 ///< by configuration and run
  std::map<std::string, std::optional<double>> distances_;  ///< of untuned configurations
  /// The end of the last untuned configuration's whole timed run; nothing if it failed.
  std::pair<std::string, std::optional<HostImage>> untuned_end_;
};

/// Fills the buffers with `contents`, and outputs and scratch with NaN patterns; launches the plan `launches` times,
/// and waits. Throws DeviceFailure.
void run_once(Execution& execution, const HeldContents& contents, int launches = 1);
/// The buffers that a plan writes, except scratch.
[[nodiscard]] BufferNames names_of_results(const Plan& plan);
/// What names_of_results() hold, or only those of them called `names`.
[[nodiscard]] HostImage results_of(Execution& execution, const BufferNames& names = {});
/// The results of a run with contents that are on the host.
[[nodiscard]] HostImage outcome_of(Execution& execution, const HostImage& contents, int launches);

/// A function that runs plans on `device`. It compiles kernels when they are first needed and passes a DeviceFailure
/// on. The device must outlive it.
[[nodiscard]] RunOnDevice run_on(Device& device);

/// The awkward problem on which `configuration` is verified beside `problem`: its sizes are odd, so that no block or
/// tile divides them. The attempts, in order:
///
/// 1. The family's awkward problem, if the configuration is allowed there and needs no other kernels.
/// 2. `problem` with each size replaced in turn: by the family's awkward size or, failing that, by the odd size above
///   or below it. A size stays as it is if the configuration would not be allowed or would need other kernels.
/// 3. If attempt 2 could change no size and some size of `problem` is odd and above 1, `problem` is awkward itself:
///   returns nothing.
/// 4. The family's awkward problem, if the configuration is allowed there, with other kernels.
/// 5. `problem` with each even size increased by 1, or else decreased by 1, if the configuration is allowed there.
///
/// Returns nothing if all attempts fail.
[[nodiscard]] std::optional<Problem> awkward_problem(const KernelFamily& family, const DeviceIdentity& device,
                                                     const Configuration& configuration, const Problem& problem);

}  // namespace heddle
