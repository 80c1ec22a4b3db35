// The search for one problem: the configurations tried, their outcomes, and the winner.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "heddle/tuner/evaluator.hpp"
#include "heddle/tuner/finals.hpp"
#include "heddle/tuner/journal.hpp"
#include "heddle/tuner/screening.hpp"
#include "heddle/tuner/stop_condition.hpp"
#include "heddle/tuner/strategy.hpp"
#include "heddle/tuner/tuning_result.hpp"

namespace heddle {

/// The member functions are called in the order begin, screen_first, screen (repeatedly), decide, take_finals. Every
/// measurement goes to the journal; a configuration that the journal knows is not measured again. The arguments of the
/// constructor must outlive the search.
class ProblemSearch {
 public:
  using Report = std::function<void(Stage, const ProblemSearch&)>;
  /// `visit_number`: the number of this visit of the problem within the run, from 1.
  ProblemSearch(Evaluator& evaluator, Journal& journal, const TunerOptions& options, const Problem& problem,
                std::int64_t visit_number, StopCondition& stop, Report report);

  [[nodiscard]] const std::vector<Configuration>& configurations() const noexcept { return configurations_; }

  /// How long the default's pilot run may take, in seconds, if `seconds_left` of the budget remain. A problem whose
  /// default takes longer is abandoned.
  [[nodiscard]] static double pilot_limit(double seconds_left);

  /// Starts to compile the default configuration, the named ones and the valid ones of `hints`, and returns at once.
  void begin(const std::vector<Configuration>& hints);
  /// Measures these configurations. The default is measured whatever the budget.
  void screen_first();
  /// Measures one batch of the strategy's proposals and starts to compile the next ones. Returns whether there is more
  /// to measure.
  ///
  /// - `ahead`: the number of batches in flight. More batches hide the compiler's time; with fewer, the strategy knows
  ///   more when it proposes.
  /// - `batch_seconds`: the time that the last batch of any search took; read and updated. A new batch begins
  ///   only if the remaining time covers the batches in flight and half of the new one, each as long as this.
  /// - `stop`: after reached(), no batch begins, but batches in flight are still measured, until must_abandon(). Where
  ///   compiling and measuring share the processor, they are dropped at once.
  bool screen(Strategy& strategy, StopCondition& stop, std::size_t ahead, double& batch_seconds);
  /// Runs finals and verification until a winner is verified or no configuration is left. Keeps the measurements for
  /// take_finals().
  void decide();
  /// Takes the measurements of the finals out of the search. The caller records them in one transaction with the
  /// profile, because a part of the finals cannot be continued.
  [[nodiscard]] std::vector<Measurement> take_finals() { return std::move(final_measurements_); }

  /// Whether the default was stopped in its pilot run, or its compilation given up. Nothing more is tried then.
  [[nodiscard]] bool out_of_time() const noexcept { return out_of_time_ || compiler_out_of_time_; }

  /// `profile` of the result is the winner; `was_stored` is not set yet.
  [[nodiscard]] TuningResult result() const;

  [[nodiscard]] const Problem& problem() const noexcept { return problem_; }
  [[nodiscard]] const Effort& effort() const noexcept { return effort_; }
  /// Number of configurations tried in this visit and in no earlier one.
  [[nodiscard]] std::int64_t evaluations() const {
    return static_cast<std::int64_t>(attempts_.size() - repeated_.size());
  }
  /// Canonical texts of all configurations tried.
  [[nodiscard]] std::set<std::string> tried() const;
  /// The cost of a configuration in microseconds per sample; a lower bound if it was pruned. Nothing if it was not
  /// tried or failed.
  [[nodiscard]] std::optional<double> cost(const std::string& configuration) const;
  /// cost() of every configuration that was tried and did not fail.
  [[nodiscard]] std::vector<std::pair<Configuration, double>> costs() const;
  /// The lowest cost so far, and the cost of the default; microseconds per sample.
  [[nodiscard]] std::optional<double> best() const;
  [[nodiscard]] std::optional<double> untuned() const;

 private:
  /// Configurations to be measured in this order. Those that the journal does not know are being compiled.
  struct Batch {
    std::vector<std::size_t> configurations;
    std::vector<std::size_t> compiling;
    std::unique_ptr<Compilation> compilation;
    std::map<std::size_t, Compilation::Done> ready;  ///< by configuration
  };
  struct Winner {
    Finalist finalist;
    std::vector<std::string> ties;
  };

  /// A compilation that the search cannot do without, and how long it may take.
  struct Late {
    double seconds = 0.0, start = 0.0;
    bool given_up = false;
  };

  // Bodies of begin(), screen() and decide(), which until_interrupted() calls.
  void do_begin(const std::vector<Configuration>& hints);
  bool do_screen(Strategy& strategy, StopCondition& stop, std::size_t ahead, double& batch_seconds);
  void do_decide();
  [[nodiscard]] std::optional<std::size_t> index_of(const Configuration& configuration) const;
  [[nodiscard]] std::vector<std::size_t> affordable(std::vector<std::size_t> configurations, std::int64_t spent) const;
  [[nodiscard]] Batch compile(std::vector<std::size_t> configurations);
  bool wait_for_one(Batch& batch, const StopCondition& stop);
  void expect_compiled(double start);
  [[nodiscard]] bool is_late() const;
  void give_up_if_late();
  template <class Step>
  void until_interrupted(const Step& step);
  void wait_for_all(Batch& batch, const StopCondition& stop);
  [[nodiscard]] std::optional<Compilation::Done> wait_for(Batch& batch, std::size_t configuration,
                                                          const StopCondition& stop);
  bool measure_batch(Batch& batch, StopCondition& stop, Strategy* strategy);
  bool measure_next_batch(StopCondition& stop, Strategy* strategy);
  [[nodiscard]] bool drops_batches(const StopCondition& stop) const;
  bool propose(Strategy& strategy, const StopCondition& stop, double batch_seconds);
  [[nodiscard]] std::optional<Recollection> recall(std::size_t configuration);
  [[nodiscard]] Observation remember(std::size_t configuration, const Recollection& known);
  [[nodiscard]] Observation measure(std::size_t configuration, const Compilation::Done& done);
  void find_samples(std::size_t configuration);
  void compile_finalists(const std::vector<Finalist>& finalists);
  bool recall_finals();
  [[nodiscard]] Measurement blank(const Configuration& configuration) const;
  void record_forbidden(const Configuration& configuration);

  [[nodiscard]] std::vector<Finalist> next_finalists();
  [[nodiscard]] bool may_become_reference(const Observation& observation) const;
  void verify_as_reference(std::size_t configuration, Screened& screened);
  [[nodiscard]] const Verdict& verify(std::size_t configuration);
  [[nodiscard]] bool is_protected(std::size_t configuration) const;
  [[nodiscard]] bool faster_is_waiting(double time) const;
  void check_device(Status status);
  /// `recalled`: the finals come from the journal, which includes the comparison with a busy core.
  void choose_winner(std::vector<Finalist>& finalists, bool recalled);
  [[nodiscard]] bool fewer_threads_win(const Finalist& candidate, const std::vector<Finalist>& finalists);
  [[nodiscard]] std::optional<double> busy_core_ratio(std::size_t configuration, std::size_t other);
  [[nodiscard]] std::optional<std::size_t> twin_with_fewer_threads(std::size_t configuration) const;
  [[nodiscard]] std::int64_t host_threads(std::size_t configuration) const;
  void reinstate_pruned();
  void record(const Finalist& finalist);
  [[nodiscard]] std::size_t differing_parameters(std::size_t configuration, const Configuration& from) const;
  [[nodiscard]] NamedTime named_time(const std::string& name, const Configuration& configuration) const;

  Evaluator& evaluator_;
  Journal& journal_;
  const TunerOptions& options_;
  Problem problem_;
  std::int64_t visit_number_;
  StopCondition& stop_;
  Report report_;
  Effort effort_;

  std::vector<Configuration> configurations_;
  std::unordered_map<std::string, std::size_t> indices_;  ///< by canonical text
  Configuration untuned_;
  std::vector<std::pair<std::string, Configuration>> named_;
  std::vector<std::size_t> protected_;  ///< default and named: never pruned, always finalists
  Provenance provenance_;
  std::string source_hash_;
  std::int64_t samples_ = 0;
  double begun_ = 0.0;                          ///< when the default's compilation began, on the clock of stop_
  std::optional<Late> late_;                    ///< while the search waits for a compilation whatever the budget
  std::optional<double> out_of_time_;           ///< seconds after which the default's pilot run was stopped
  std::optional<double> compiler_out_of_time_;  ///< TuningResult::compiler_out_of_time
  std::size_t recalled_ = 0;                    ///< attempts that an earlier run had measured
  std::set<std::size_t> repeated_;              ///< attempts that an earlier visit made and counted
  std::deque<Batch> batches_;                   ///< in flight; measured in this order
  std::vector<std::size_t> uncompiled_first_;   ///< first configurations whose compilation has not begun
  bool strategy_knows_ = false;                 ///< whether the strategy was told of the first attempts
  double last_batch_end_ = 0.0;                 ///< when the last batch ended, on the clock of stop_
  std::set<std::size_t> compiled_;              ///< by this process
  std::vector<Measurement> final_measurements_;
  std::map<std::size_t, Observation> attempts_;
  std::map<std::size_t, Verdict> verdicts_;
  std::optional<double> prune_reference_;   ///< lowest verified cost: slower configurations are pruned against it
  std::map<std::size_t, Finalist> finals_;  ///< the latest result of each finalist
  std::optional<Winner> winner_;
};

}  // namespace heddle
