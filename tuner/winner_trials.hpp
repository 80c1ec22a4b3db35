// Configurations that are tried one by one at problems that have a winner already: values that are chosen last, as
// another problem found them, and what may be the best single mapping.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "heddle/tuner/lessons.hpp"
#include "heddle/tuner/stop_condition.hpp"
#include "heddle/tuner/visits.hpp"

namespace heddle {

/// Its arguments must outlive it.
class WinnerTrials {
 public:
  /// `problems`: how many the run tunes, by place of their visits. `most_active`: searches at a time.
  WinnerTrials(const Evaluator& evaluator, const TunerOptions& options, StopCondition& stop, const Lessons& lessons,
               Visits& visits, std::size_t problems, std::size_t most_active);

  /// Whether the run compares its winners with a single mapping: by the time with a warm cache, as the report does.
  [[nodiscard]] bool compare_mappings() const;
  /// The part of the evaluations that the first searches leave for a single mapping, one for each problem; to be called
  /// before they begin.
  [[nodiscard]] double reserve();
  /// At how many problems values that are chosen last are to be tried, at least once, as far as is known now. To find
  /// that out takes a while: it is found out again only where something was learnt of such values since.
  [[nodiscard]] std::size_t late_choices();

  /// Tries what other problems found of what is chosen last at all problems. Each trial says how good such values are,
  /// so that one that seemed good by chance is not tried everywhere.
  void try_last_choices(const Phase& phase);
  /// Tries the likeliest best single mapping at the problems that did not, so that the run can say what a winner for
  /// each problem gains over one mapping for all. Then another one, as long as that makes another one the likeliest.
  void try_single_mappings(const Phase& phase);

 private:
  struct Trial {
    Problem problem;
    Configuration configuration;
  };

  [[nodiscard]] std::optional<Configuration> last_choice_for(std::size_t place) const;
  [[nodiscard]] double seconds_to_compile(const LikelyMapping& mapping) const;
  void try_each(const std::function<std::optional<Trial>()>& next, const Phase& phase, StopCondition& time,
                const StopCondition& finals);

  const Evaluator& evaluator_;
  const TunerOptions& options_;
  StopCondition& stop_;
  const Lessons& lessons_;
  Visits& visits_;
  const std::size_t problems_, most_active_;
  double reserved_evaluations_ = 0.0;
  std::map<std::size_t, std::pair<std::size_t, bool>> late_;  ///< by place: LastChoices::revision(), and whether
};

}  // namespace heddle
