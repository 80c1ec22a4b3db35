// The journal of a run as one visit of a problem reads and writes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "heddle/tuner/journal.hpp"
#include "heddle/tuner/search/searched_problem.hpp"
#include "heddle/tuner/tuner_options.hpp"

namespace heddle {

/// Evaluator, journal, options and problem must outlive it.
class VisitJournal {
 public:
  /// `visit_number`: the number of this visit of the problem within the run, from 1.
  VisitJournal(Evaluator& evaluator, Journal& journal, const SearchedProblem& problem, const TunerOptions& options,
               std::int64_t visit_number);

  /// The known outcome of a configuration, which need not be measured again.
  [[nodiscard]] std::optional<Recollection> recall(std::size_t configuration) const;
  /// The finals of this visit, as far as an earlier process had recorded them.
  [[nodiscard]] std::vector<Measurement> known_finals() const { return journal_.finals(problem_.problem(), number_); }
  /// The samples per repetition of known measurements; nothing if there are none.
  [[nodiscard]] std::optional<std::int64_t> known_samples() const { return journal_.samples(problem_.problem()); }

  /// A measurement with everything that the measurements of this visit have in common.
  [[nodiscard]] Measurement blank(const Configuration& configuration, std::int64_t samples) const;
  /// The same of the finals.
  [[nodiscard]] Measurement blank_of_finals(const Configuration& configuration, std::int64_t samples) const;
  /// A profile with everything but what was measured.
  [[nodiscard]] Profile blank_profile(const Configuration& configuration, std::int64_t samples) const;

  /// Writes the measurement to the store at once. Throws Error(profiles); after a failure that may have taken the
  /// device down, Error(device) if the device is unusable.
  void add(Measurement measurement);
  /// Records which constraint a named configuration violates, unless that is known.
  void add_forbidden(const Configuration& configuration);
  /// Counts an evaluation. Returns false if this run has counted it before.
  bool count_once(std::size_t configuration);
  /// Reads the clocks of the device, which are those of a device under load, for the measurements that follow.
  void read_clocks() { provenance_.clocks = evaluator_.provenance().clocks; }

 private:
  Evaluator& evaluator_;
  const TunerOptions& options_;
  Journal& journal_;
  const SearchedProblem& problem_;
  std::int64_t number_;
  Provenance provenance_;
};

}  // namespace heddle
