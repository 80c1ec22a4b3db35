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

/// How far a result is from the float64 reference.
struct Accuracy {
  bool accepted = false;
  double worst_error = 0.0;  ///< the largest of the relative errors that the family looks at; NaN counts as infinite
  std::string message;       ///< what was wrong, in one line; empty if accepted
};

/// A plan with contents for its buffers, ready to be run.
struct Trial {
  Plan plan;
  HostImage initial;  ///< every parameter, state and input buffer
};

/// Launches of one plan.
struct VerificationStage {
  std::size_t plan = 0;  ///< index in Verification::Runs::plans
  int launches = 1;      ///< submitted one after the other; buffers are looked at after the last
  /// Contents of every parameter, state and input buffer. `left`: parameters, states and outputs, as the stage before
  /// left them; empty for the first stage.
  std::function<HostImage(const HostImage& left)> contents;
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
  /// What a configuration that is allowed for `problem` has to pass there. Contents are made when they are asked for.
  [[nodiscard]] virtual Runs runs(const Configuration& configuration, const Problem& problem) = 0;

  /// What the device is going to run for a reference that takes a host too long. It is compiled ahead, since a compiler
  /// that has a whole search to work at answers after seconds.
  [[nodiscard]] virtual std::vector<DeviceProgram> programs() const { return {}; }

  /// The timed run of `samples` samples, ended after `end` of them, at most `samples`. Nothing if the reference takes
  /// too long for so many.
  [[nodiscard]] virtual std::optional<TimedRun> timed_run(const Configuration& configuration, const Problem& problem,
                                                          std::int64_t samples, std::int64_t end) = 0;
};

/// Runs a plan with kernels of `source` on the device whose kernels are verified, so many times, and returns
/// parameters, states and outputs. For references that would take a host too long. Throws what the device throws.
using RunOnDevice =
    std::function<HostImage(const TemplateSource& source, const Plan& plan, const HostImage& contents, int launches)>;

}  // namespace heddle
