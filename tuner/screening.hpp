// The cheap first look at a configuration.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "heddle/profiles/measurement.hpp"
#include "heddle/tuner/evaluator.hpp"

namespace heddle {

/// Work (in the family's unit, of which `range` has how much one run may do) of the pilot run, which finds out how much
/// a repetition needs; and of a repetition if that could not be found out.
[[nodiscard]] std::int64_t pilot_work(const WorkRange& range);
[[nodiscard]] std::int64_t usual_work(const WorkRange& range);
/// What the family of `evaluator` says about a problem.
[[nodiscard]] WorkRange timed_work(const Evaluator& evaluator, const Problem& problem);

/// Samples per repetition (units of work), within the family's range: so many that a repetition is long compared to the
/// noise of clocks and launches. Measured with `configuration`, which is compiled and of ordinary speed. usual_work()
/// if it cannot run.
/// Throws Interrupted if `stop` returns true during the pilot run.
[[nodiscard]] std::int64_t choose_samples(Evaluator& evaluator, const Configuration& configuration,
                                          const Problem& problem, const Stop& stop = {});

struct ScreeningLimits {
  int repetitions = 3;
  /// A configuration is pruned if its cost is not expected to be at most this, in microseconds per unit. Nothing: no
  /// limit.
  std::optional<double> prune_above;
  /// A configuration that is clearly slower than this is timed no further, and keeps the times that it has: more of
  /// them would make its cost more exact, and no finalist of it. Nothing: no limit. Only where nothing but the kernel
  /// itself makes a repetition much slower: on devices that do not share the host's processor.
  std::optional<double> settle_above = {};
  /// It is timed until so much time has passed, in seconds: of the first configuration of a search, which starts with
  /// an idle device whose clocks have to rise.
  double least_seconds = 0.0;
  bool energy = false;  ///< whether its energy is measured as well, about a second
  /// Asked with the time of each repetition, in microseconds per unit, and what the kernels take: true if neither a
  /// further repetition nor the energy is worth its time. Empty: never.
  std::function<bool(double time, const std::optional<KernelResources>& resources)> enough = {};
};

/// The outcome of a screening.
struct Screened {
  Measurement measurement;     ///< unverified, pruned, or how it failed
  std::optional<double> cost;  ///< fastest repetition, microseconds per unit
};

/// Times a compiled configuration a few times after a warm-up. `blank`: a measurement with everything but status,
/// times and message. Failures of the device end up in the status.
[[nodiscard]] Screened screen(Evaluator& evaluator, const Configuration& configuration, Measurement blank,
                              const ScreeningLimits& limits);

}  // namespace heddle
