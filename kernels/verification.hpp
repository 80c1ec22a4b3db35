// Verification of a family's kernels: the runs that a configuration has to pass, and their expected results. They are
// data, like plans, so that the tuner, its worker process and the contract tests carry out the same runs
// (tuner/verifier.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "heddle/kernels/plan.hpp"
#include "heddle/kernels/problem.hpp"
#include "heddle/kernels/search_space.hpp"
#include "heddle/kernels/template_source.hpp"

namespace heddle {

/// The byte that outputs and scratch are filled with before every stage: every real of it is no number.
inline constexpr std::byte kPoison{0xff};

/// How far a result is from the float64 reference.
struct Accuracy {
  bool accepted = false;
  double worst_error = 0.0;  ///< the largest of the relative errors that the family looks at; NaN counts as infinite
  std::string message;       ///< what was wrong, in one line; a remark if accepted
};

/// A plan with contents for its buffers, ready to be run.
struct Trial {
  Plan plan;
  SharedImage initial;  ///< every parameter, state and input buffer
};

/// Launches of one plan.
struct VerificationStage {
  std::size_t plan = 0;  ///< index in Verification::Runs::plans
  int launches = 1;      ///< submitted one after the other; buffers are looked at after the last
  /// Contents of every parameter, state and input buffer. `left`: parameters, states and outputs, as the stage before
  /// left them; empty for the first stage. Contents may be shorter than their buffer, which is 0 behind them.
  std::function<SharedImage(const HostImage& left)> contents;
  /// Judges parameters, states and outputs.
  std::function<Accuracy(const HostImage& after)> check;
};

/// One run of a configuration from known contents. A stage begins if the one before was accepted.
struct VerificationRun {
  /// Says all that the contents depend on beside the seed: "rules=33 dim=17 outputs=3, plain step, wide, shallow".
  std::string name;
  std::vector<VerificationStage> stages;
};

/// The run that a configuration is timed with, or the beginning of it, and how to judge what it leaves.
struct TimedRun {
  /// Buffers to overwrite after they were filled as KernelFamily::trial() says, so that the run ends after `end`
  /// samples: for example its control buffer.
  HostImage overwrites;
  /// How far the buffers are from the float64 reference, in units of the distance that rounding to float32 explains.
  std::function<double(const HostImage& after)> distance;
  /// How far from the reference a second float64 run ends that differs from it by as much as rounding to float32 does;
  /// in the same units. About 1 or less; much more where training is chaotic. Empty if errors do not grow.
  std::function<double()> rounding;
};

/// The parameters, states and outputs that the whole timed run of a configuration left.
struct TimedEnd {
  const Configuration& configuration;
  const HostImage& after;
};

/// Kernels of one plan.
struct DeviceProgram {
  const TemplateSource* source = nullptr;
  Kernels kernels;
};

/// The verification of a family on one device. Keeps what runs share: their contents, and what the reference makes of
/// them. From one thread at a time; must not outlive the family.
class Verification {
 public:
  virtual ~Verification() = default;

  struct Runs {
    std::vector<Plan> plans;
    std::vector<VerificationRun> runs;  ///< what finds most comes first
    /// The first `essential` runs are done on the own shape of every problem.
    std::size_t essential = 1;
    /// The first `thorough` runs are done on the awkward shape (on the own shape if there is none). Usually these are
    /// all runs. If runs are expensive, they are fewer; the family then orders `runs` so that beside the essential
    /// ones, different problems do different runs.
    std::size_t thorough = SIZE_MAX;
  };
  /// The runs that a configuration has to pass for `problem`, where it is allowed. Contents are made when they are
  /// asked for.
  [[nodiscard]] virtual Runs runs(const Configuration& configuration, const Problem& problem) = 0;

  /// The programs that the device is going to run for a reference that takes a host too long. They are compiled ahead,
  /// since a compiler that has a whole search to work at answers after seconds.
  [[nodiscard]] virtual std::vector<DeviceProgram> programs() const { return {}; }

  /// The timed run of `samples` samples, ended after `end` of them, at most `samples`. Nothing if the reference takes
  /// more than a second or so for so many.
  [[nodiscard]] virtual std::optional<TimedRun> timed_run(const Configuration& configuration, const Problem& problem,
                                                          std::int64_t samples, std::int64_t end) = 0;
  /// After how many of its `samples` samples a timed run is compared with the reference as long as nothing is
  /// suspicious: as many as the reference does in a small part of a second.
  [[nodiscard]] virtual std::int64_t compared_samples(const Problem&, std::int64_t samples) { return samples; }
  /// Whether difference() may find one; otherwise nobody need look at what a timed run leaves.
  [[nodiscard]] virtual bool compares_ends() const { return true; }
  /// How far `found` is from `expected`, another configuration's end of the same timed run, in the units of
  /// TimedRun::distance. Nothing if the two cannot be compared.
  [[nodiscard]] virtual std::optional<double> difference(const Problem&, std::int64_t /*samples*/,
                                                         const TimedEnd& /*found*/, const TimedEnd& /*expected*/) {
    return std::nullopt;
  }
};

/// Runs a plan with kernels of `source` on the device whose kernels are verified, so many times, and returns
/// parameters, states and outputs. For references that would take a host too long. Throws what the device throws.
using RunOnDevice =
    std::function<HostImage(const TemplateSource& source, const Plan& plan, const HostImage& contents, int launches)>;

}  // namespace heddle
