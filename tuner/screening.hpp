// The cheap first look at a configuration.
#pragma once

#include <cstdint>
#include <optional>

#include "heddle/profiles/measurement.hpp"
#include "heddle/tuner/evaluator.hpp"

namespace heddle {

/// Samples of the first run of a problem, and of the longest repetition.
inline constexpr std::int64_t kPilotSamples = 32, kMostSamples = 16384;

/// Consecutive samples per repetition, so that one takes long against the noise of clocks and launches: a power of two,
/// found with a compiled configuration of ordinary speed. 64 if that one cannot run. Throws Interrupted if `stop` says
/// so during the first run.
[[nodiscard]] std::int64_t choose_samples(Evaluator& evaluator, const Configuration& configuration,
                                          const Problem& problem, const Stop& stop = {});

struct ScreeningLimits {
  int repetitions = 3;
  /// Microseconds per sample; stop measuring as soon as no repetition can be expected below. Nothing: no limit.
  std::optional<double> hopeless;
};

/// One configuration screened: what to record, and what the strategy learns.
struct Screened {
  Measurement measurement;     ///< unverified, pruned, or how it failed
  std::optional<double> cost;  ///< fastest repetition, microseconds per sample
};

/// Times a compiled configuration a few times after a warm-up. `blank`: a measurement with everything but status,
/// times and message. Failures of the device end up in the status.
[[nodiscard]] Screened screen(Evaluator& evaluator, const Configuration& configuration, Measurement blank,
                              const ScreeningLimits& limits);

}  // namespace heddle
