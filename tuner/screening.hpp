// The cheap first look at a configuration.
#pragma once

#include <cstdint>
#include <optional>

#include "heddle/profiles/measurement.hpp"
#include "heddle/tuner/evaluator.hpp"

namespace heddle {

/// Samples of a repetition: in the pilot run that finds out how many are needed; where none could be found; at most.
inline constexpr std::int64_t kPilotSamples = 32, kUsualSamples = 64, kMostSamples = 16384;

/// Samples per repetition, a power of two: so many that a repetition is long compared to the noise of clocks and
/// launches. Measured with `configuration`, which is compiled and of ordinary speed. kUsualSamples if it cannot run.
/// Throws Interrupted if `stop` returns true during the pilot run.
[[nodiscard]] std::int64_t choose_samples(Evaluator& evaluator, const Configuration& configuration,
                                          const Problem& problem, const Stop& stop = {});

struct ScreeningLimits {
  int repetitions = 3;
  /// A configuration is pruned if its cost is not expected to be at most this, in microseconds per sample. Nothing: no
  /// limit.
  std::optional<double> prune_above;
};

/// The outcome of a screening.
struct Screened {
  Measurement measurement;     ///< unverified, pruned, or how it failed
  std::optional<double> cost;  ///< fastest repetition, microseconds per sample
};

/// Times a compiled configuration a few times after a warm-up. `blank`: a measurement with everything but status,
/// times and message. Failures of the device end up in the status.
[[nodiscard]] Screened screen(Evaluator& evaluator, const Configuration& configuration, Measurement blank,
                              const ScreeningLimits& limits);

}  // namespace heddle
