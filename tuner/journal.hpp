// What a run has measured and what it knows from before, in the store.
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

namespace heddle {

/// A configuration that need not be measured.
struct Recollection {
  Observation observation;
  std::string message;
  /// The run itself measured it, in a process that was killed or for an earlier visit; otherwise an earlier run did.
  bool own = false;
};

/// A run that was killed takes the same path again, except that everything it asks about is known up to the point where
/// it was killed: so it continues. Evaluator and store must outlive it.
class Journal {
 public:
  Journal(ProfileStore& store, const Evaluator& evaluator, TuningRun run);

  [[nodiscard]] const TuningRun& run() const noexcept { return run_; }

  /// What is known of a configuration in visit `visit` of the run.
  [[nodiscard]] std::optional<Recollection> recall(const Problem& problem, const std::string& configuration,
                                                   std::int64_t visit);
  /// Samples per repetition of what is known; nothing if nothing is.
  [[nodiscard]] std::optional<std::int64_t> samples(const Problem& problem);
  /// What the finals of this very visit gave, if they were concluded, and who failed in them in any case.
  [[nodiscard]] std::vector<Measurement> finals(const Problem& problem, std::int64_t visit);
  /// Whether this is asked for the first time: an evaluation counts once in a run.
  [[nodiscard]] bool count_once(const Problem& problem, const std::string& configuration);

  /// What a search learnt of each configuration that worked, in runs before this one; microseconds per sample.
  [[nodiscard]] std::map<std::string, double> earlier_costs(const Problem& problem);

  /// Written at once: no death of this process can take it away. Throws Error(profiles).
  void add(Measurement measurement);

 private:
  struct Page {
    std::map<std::string, Measurement> earlier;  ///< of earlier runs: the last of each configuration
    std::map<std::string, Measurement> own;      ///< of this run's screenings
    std::vector<Measurement> finals;             ///< of this run
    std::set<std::string> counted;
  };
  Page& page(const Problem& problem);

  ProfileStore& store_;
  const Evaluator& evaluator_;
  TuningRun run_;
  Measurement like_;  ///< source and environment of now
  std::map<Problem, Page> pages_;
};

}  // namespace heddle
