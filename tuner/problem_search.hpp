// The search for one problem: what was tried, how it went, and who wins.
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

/// Called in the order of its functions. Everything measured goes to the journal, and nothing is measured that the
/// journal knows. What it is made with must outlive it.
class ProblemSearch {
 public:
  using Report = std::function<void(Stage, const ProblemSearch&)>;
  /// `visit`: which of the run, counted from 1.
  ProblemSearch(Evaluator& evaluator, Journal& journal, const TunerOptions& options, const Problem& problem,
                std::int64_t visit, StopCondition& stop, Report report);

  [[nodiscard]] const std::vector<Configuration>& configurations() const noexcept { return configurations_; }

  /// Seconds that the untuned default may take over its first run when so much is left of the budget: a problem for
  /// which that is too little is left.
  [[nodiscard]] static double first_run_seconds(double left);

  /// Starts to compile the default configuration, the named ones and those of `hints` that are valid, so that
  /// something else can be done meanwhile.
  void begin(const std::vector<Configuration>& hints);
  /// Tries them; the default whatever the budget.
  void screen_first();
  /// Some of what the strategy proposes, while the compiler is at the next. `ahead`: so many batches are compiled
  /// before the first of them is tried; more hide the compiler, fewer let the strategy know more. `turn`: seconds that
  /// a batch took last, whichever search it was of; where less is left than half of a batch needs, none is begun, and
  /// one that was begun is tried even after `stop` is reached, until it is over, unless compiling and measuring share
  /// the processor. Returns whether there is more to try.
  bool screen(Strategy& strategy, StopCondition& stop, std::size_t ahead, double& turn);
  /// Finals and verification until a winner is verified or nobody is left. What it measures is in take_finals().
  void decide();
  /// To be recorded together with the profile, all or nothing: finals half known cannot be continued.
  [[nodiscard]] std::vector<Measurement> take_finals() { return std::move(final_measurements_); }

  /// Whether the default was stopped in its first run, so that nothing more is tried.
  [[nodiscard]] bool out_of_time() const noexcept { return out_of_time_.has_value(); }

  /// `profile` is the winner, `kept` is not set.
  [[nodiscard]] TuningResult result() const;

  [[nodiscard]] const Problem& problem() const noexcept { return problem_; }
  [[nodiscard]] const Effort& effort() const noexcept { return effort_; }
  /// Configurations tried that no earlier visit had tried.
  [[nodiscard]] std::int64_t evaluations() const {
    return static_cast<std::int64_t>(attempts_.size() - repeated_.size());
  }
  /// Canonical texts of what was evaluated.
  [[nodiscard]] std::set<std::string> tried() const;
  /// What a configuration took, or at least took, if it was evaluated and did not fail; microseconds per sample.
  [[nodiscard]] std::optional<double> cost(const std::string& configuration) const;
  /// Of all of these.
  [[nodiscard]] std::vector<std::pair<Configuration, double>> costs() const;
  /// Fastest so far, and the default's; microseconds per sample.
  [[nodiscard]] std::optional<double> best() const;
  [[nodiscard]] std::optional<double> baseline() const;

 private:
  /// Configurations to be tried in this order; what is not known of them is being compiled.
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

  void compile_first(const std::vector<Configuration>& hints);
  bool try_some(Strategy& strategy, StopCondition& stop, std::size_t ahead, double& turn);
  void find_winner();
  [[nodiscard]] std::optional<std::size_t> index_of(const Configuration& configuration) const;
  [[nodiscard]] std::vector<std::size_t> affordable(std::vector<std::size_t> configurations, std::int64_t spent) const;
  [[nodiscard]] Batch compile(std::vector<std::size_t> configurations);
  bool wait(Batch& batch, const StopCondition& stop);
  template <class Work>
  void until_interrupted(const Work& work);
  void wait_for_all(Batch& batch, const StopCondition& stop);
  [[nodiscard]] std::optional<Compilation::Done> take(Batch& batch, std::size_t configuration,
                                                      const StopCondition& stop);
  bool try_all(Batch& batch, StopCondition& stop, Strategy* strategy);
  bool try_next(StopCondition& stop, Strategy* strategy);
  [[nodiscard]] bool ended(const StopCondition& stop) const;
  bool propose(Strategy& strategy, const StopCondition& stop, double turn);
  [[nodiscard]] std::optional<Recollection> recall(std::size_t configuration);
  [[nodiscard]] Observation remember(std::size_t configuration, const Recollection& known);
  [[nodiscard]] Observation measure(std::size_t configuration, const Compilation::Done& done);
  void find_samples(std::size_t configuration);
  void compile_finalists(const std::vector<Finalist>& finalists);
  bool recall_finals();
  [[nodiscard]] Measurement blank(const Configuration& configuration) const;
  void record_forbidden(const Configuration& configuration);

  [[nodiscard]] std::vector<Finalist> next_finalists();
  [[nodiscard]] bool raises_bar(const Observation& observation) const;
  void raise_bar(std::size_t configuration, Screened& screened);
  [[nodiscard]] const Verdict& verify(std::size_t configuration);
  [[nodiscard]] bool spared(std::size_t configuration) const;
  [[nodiscard]] bool faster_is_waiting(double time) const;
  void check_device(Status status);
  /// `measured`: what shows with a core taken is known already.
  void crown(std::vector<Finalist>& finalists, bool measured);
  [[nodiscard]] bool fewer_threads_win(const Finalist& candidate, const std::vector<Finalist>& finalists);
  [[nodiscard]] std::optional<double> contended_ratio(std::size_t configuration, std::size_t other);
  [[nodiscard]] std::optional<std::size_t> twin_with_fewer_threads(std::size_t configuration) const;
  [[nodiscard]] std::int64_t host_threads(std::size_t configuration) const;
  void reopen_pruned();
  void record(const Finalist& finalist);
  [[nodiscard]] std::size_t distance(std::size_t configuration, const Configuration& from) const;
  [[nodiscard]] NamedTime named_time(const std::string& name, const Configuration& configuration) const;

  Evaluator& evaluator_;
  Journal& journal_;
  const TunerOptions& options_;
  Problem problem_;
  std::int64_t visit_;
  StopCondition& stop_;
  Report report_;
  Effort effort_;

  std::vector<Configuration> configurations_;
  std::unordered_map<std::string, std::size_t> indices_;  ///< by canonical text
  Configuration default_;
  std::vector<std::pair<std::string, Configuration>> named_;
  std::vector<std::size_t> protected_;  ///< default and named: never pruned, always finalists
  Provenance provenance_;
  std::string source_hash_;
  std::int64_t samples_ = 0;
  std::optional<double> out_of_time_;  ///< seconds after which the default was stopped in its first run
  std::size_t recalled_ = 0;           ///< attempts that an earlier run had made
  std::set<std::size_t> repeated_;     ///< attempts that an earlier visit had made, which counted them
  std::deque<Batch> batches_;          ///< to be tried in this order
  std::vector<std::size_t> later_;     ///< of the first ones, what is not being compiled yet
  bool strategy_knows_ = false;        ///< what was tried before it was asked
  double last_turn_ = 0.0;             ///< when it ended
  std::set<std::size_t> compiled_;     ///< in this process
  std::vector<Measurement> final_measurements_;
  std::map<std::size_t, Observation> attempts_;
  std::map<std::size_t, Verdict> verdicts_;
  std::optional<double> bar_;               ///< fastest verified cost so far: what others must not be hopeless against
  std::map<std::size_t, Finalist> finals_;  ///< the last finals of each configuration that took part in any
  std::optional<Winner> winner_;
};

}  // namespace heddle
