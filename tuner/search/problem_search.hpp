// The search for one problem: what is tried, in which order, and until when.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "heddle/tuner/last_choices.hpp"
#include "heddle/tuner/search/attempts.hpp"
#include "heddle/tuner/search/compile_queue.hpp"
#include "heddle/tuner/search/decision.hpp"
#include "heddle/tuner/search/screener.hpp"
#include "heddle/tuner/strategy.hpp"
#include "heddle/tuner/tuning_progress.hpp"
#include "heddle/tuner/tuning_result.hpp"

namespace heddle {

/// What a visit of a problem tries.
struct SearchPlan {
  std::vector<Configuration> first;         ///< tried after the default and the named configurations
  const StrategyEntry* strategy = nullptr;  ///< what proposes afterwards; nothing: only the first ones are tried
  /// As SearchTask::expected.
  std::vector<float> expected;
  /// The search may end at this cost, microseconds per sample.
  std::optional<double> good_enough;
  std::int64_t visit_number = 1;  ///< of the visits of this problem within the run
  /// What other problems of the run found of the parameters that are chosen last; nothing if there are no others.
  LastChoices* last = nullptr;
  bool refines = true;  ///< whether the parameters that are chosen last are tried at all
};

/// One visit of one problem. It begins when this is made, goes on with every turn, and ends with decide(), or without a
/// decision. Every measurement goes to the journal; a configuration that the journal knows is not measured again.
class ProblemSearch {
 public:
  using Report = std::function<void(Stage, const ProblemSearch&)>;

  /// Starts to compile the first configurations and returns at once. The arguments must outlive the search. `time`: the
  /// budget of the visit.
  ProblemSearch(Evaluator& evaluator, Journal& journal, const TunerOptions& options, const SearchedProblem& problem,
                SearchPlan plan, StopCondition time, Pace& pace, Report report);
  ProblemSearch(const ProblemSearch&) = delete;  // its parts refer to each other
  ProblemSearch& operator=(const ProblemSearch&) = delete;

  /// Where nothing but the default is to be measured first, starts to compile proposals, for which the compiler has
  /// time meanwhile. At any other time it does nothing.
  void look_ahead(std::size_t ahead);
  /// Whether the next turn does not wait for the compiler.
  [[nodiscard]] bool is_compiled() const;
  /// Waits until then, or until `enough` returns true.
  void wait_for_compiler(const Stop& enough);
  /// Measures what comes next and starts to compile what the strategy proposes; in the end, what is chosen last for the
  /// fastest. Returns whether there is more to measure. The first turn measures the first configurations; the default
  /// is measured whatever the budget. Every later turn measures one batch. `ahead`: the number of batches in flight.
  /// More batches hide the compiler's time; with fewer, the strategy knows more when it proposes.
  bool take_turn(std::size_t ahead);
  /// Ends the search: finals and verification.
  void decide();

  [[nodiscard]] const SearchedProblem& problem() const noexcept { return problem_; }
  [[nodiscard]] const StopCondition& time() const noexcept { return stop_; }
  [[nodiscard]] const Attempts& attempts() const noexcept { return attempts_; }
  [[nodiscard]] const Decision& decision() const noexcept { return decision_; }
  [[nodiscard]] const Effort& effort() const noexcept { return effort_; }
  /// The cost of the default, microseconds per sample.
  [[nodiscard]] std::optional<double> untuned() const;
  /// Whether it makes something else small than the time.
  [[nodiscard]] bool has_objective() const { return options_.objective != nullptr; }
  /// What was found so far. `profile` is the winner.
  [[nodiscard]] TuningResult result() const;

 private:
  template <class Step>
  void until_interrupted(const Step& step);
  void begin(const std::vector<Configuration>& first);
  [[nodiscard]] std::size_t batches_of_turn() const;
  void measure_first();
  void start_strategy();
  void tell_strategy();
  bool measure_batch(StopCondition& stop);
  void prolong_screening();
  void verify_held();
  bool screen(std::size_t ahead);
  bool refine();
  void measure_refined();
  [[nodiscard]] std::vector<std::size_t> refinements_of(std::size_t fastest);
  void add_untried(const std::vector<Configuration>& configurations, std::size_t most,
                   std::vector<std::size_t>& numbers) const;
  [[nodiscard]] std::size_t most_for_others() const;
  bool propose(std::size_t ahead);
  bool propose_batch();
  [[nodiscard]] std::vector<std::size_t> affordable(std::vector<std::size_t> configurations, std::int64_t spent) const;
  [[nodiscard]] NamedTime named_time(const std::string& name, const Configuration& configuration) const;

  Evaluator& evaluator_;
  const TunerOptions& options_;
  const SearchedProblem& problem_;
  SearchPlan plan_;
  StopCondition stop_;
  Pace& pace_;
  Report report_;
  Effort effort_;
  VisitJournal journal_;
  SearchContext context_;  ///< names the members above
  CompileQueue queue_;
  Attempts attempts_;
  Verdicts verdicts_;
  Screener screener_;
  Decision decision_;
  std::vector<std::size_t> uncompiled_first_;  ///< first configurations whose compilation has not begun
  std::unique_ptr<Strategy> strategy_;         ///< from its first proposal on
  bool informed_ = false;                      ///< the strategy knows what was measured in the first turn
  std::vector<std::size_t> refined_;           ///< for which what is chosen last was tried, one after the other
  bool takes_on_ = false;                      ///< to try all values of what is chosen last
  /// Of the strategy's proposals. After reached(), no batch begins, but batches in flight are still measured, until
  /// must_abandon(). Where compiling and measuring share the processor, they are dropped at once.
  std::optional<StopCondition> screening_;
  double most_to_decide_ = 0.0;  ///< seconds that the screening leaves at most
  double last_batch_end_ = 0.0;  ///< on the clock of stop_
};

}  // namespace heddle
