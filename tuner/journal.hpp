// The measurements of a run, and those of earlier runs that it can reuse.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "heddle/profiles/profile_store.hpp"
#include "heddle/tuner/evaluator.hpp"
#include "heddle/tuner/strategy.hpp"
#include "heddle/tuner/tuner_options.hpp"

namespace heddle {

/// The known outcome of a configuration, which need not be measured again.
struct Recollection {
  Observation observation;
  std::string message;
  /// True: this run measured it, before it was restarted or in an earlier visit. False: an earlier run did.
  bool own = false;
  std::size_t place = 0;  ///< of what this run measured: the order in which it did, from 1; 0 of an earlier run
  std::optional<KernelResources> resources = {};
  std::optional<double> energy = {};  ///< joules per sample
};

/// Writes the measurements of a run to the store and answers what is already known. A restarted run asks for the same
/// configurations in the same order; those that were measured before come from here, so the run continues where it was
/// killed. Evaluator and store must outlive it.
class Journal {
 public:
  /// Only what was measured with the same cache (TunerOptions::cold_cache) is known.
  Journal(ProfileStore& store, const Evaluator& evaluator, TuningRun run, const TunerOptions& options = {});

  [[nodiscard]] const TuningRun& run() const noexcept { return run_; }

  /// The known outcome of a configuration, as seen by visit `visit_number` of the run.
  [[nodiscard]] std::optional<Recollection> recall(const Problem& problem, const std::string& configuration,
                                                   std::int64_t visit_number) const;
  /// The samples per repetition of known measurements; nothing if there are none.
  [[nodiscard]] std::optional<std::int64_t> samples(const Problem& problem) const;
  /// Measurements of the finals of visit `visit_number`: all of them if the finals were finished, otherwise only the
  /// failures.
  [[nodiscard]] std::vector<Measurement> finals(const Problem& problem, std::int64_t visit_number) const;
  /// Counts an evaluation. Returns false if this run has counted it before.
  bool count_once(const Problem& problem, const std::string& configuration);

  /// Costs of the configurations that worked in earlier runs, microseconds per sample. None where the run has an
  /// objective of its own.
  [[nodiscard]] std::map<std::string, double> earlier_costs(const Problem& problem) const;

  /// Writes the measurement to the store at once, so that it survives the end of this process. Throws Error(profiles).
  void add(Measurement measurement);

 private:
  struct Page {
    std::map<std::string, Measurement> earlier;  ///< of earlier runs: the last of each configuration
    std::map<std::string, Measurement> own;      ///< of this run's screenings
    std::map<std::string, std::size_t> places;   ///< the order of the same, from 1
    std::vector<Measurement> finals;             ///< of this run
    std::set<std::string> counted;

    void keep_own(const Measurement& screening);
  };
  Page& page(const Problem& problem) const;

  ProfileStore& store_;
  const Evaluator& evaluator_;
  TuningRun run_;
  bool cold_cache_, has_objective_;
  Measurement current_;                    ///< present source and environment
  mutable std::map<Problem, Page> pages_;  ///< read from the store when they are first needed
};

}  // namespace heddle
