// The visits of a tuning run: how they begin, take turns and end, and what they found.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "heddle/profiles/profile_store.hpp"
#include "heddle/tuner/lessons.hpp"
#include "heddle/tuner/reporter.hpp"
#include "heddle/tuner/schedule.hpp"
#include "heddle/tuner/search/problem_search.hpp"
#include "heddle/tuner/search/searched_problems.hpp"

namespace heddle {

/// A visit of one problem that has begun.
struct Visit {
  std::size_t place = 0;                         ///< of the problem: its place on the agenda, or behind it
  std::size_t most_first = Suggestions::kFirst;  ///< as begin() was told
  PlannedVisit planned;
  std::unique_ptr<ProblemSearch> search;
};

/// The problems of `visits`.
[[nodiscard]] std::vector<Problem> problems_of(const std::vector<Visit>& visits);
[[nodiscard]] std::vector<Problem> problems_of(const std::vector<PlannedVisit>& agenda);
/// The evaluations that `visits` may still make.
[[nodiscard]] std::int64_t evaluations_left(const std::vector<Visit>& visits);

/// Its arguments must outlive it.
class Visits {
 public:
  Visits(Evaluator& evaluator, ProfileStore& store, const TunerOptions& options, const TunerCallbacks& callbacks,
         const StopCondition& stop, Journal& journal, Lessons& lessons, const std::vector<PlannedVisit>& agenda,
         const PoolShare& pool)
      : evaluator_(evaluator),
        store_(store),
        options_(options),
        strategy_(strategy(options.strategy)),
        stop_(stop),
        journal_(journal),
        lessons_(lessons),
        places_(agenda.size()),
        reporter_(callbacks, stop, places_),
        problems_(
            evaluator, stop, problems_of(agenda), [pool](const Problem& problem) { return pool.has_another(problem); },
            lessons.suggestions().model_before()),
        tried_(places_),
        results_(places_) {}

  /// Begins a visit that tries the configurations to which the lessons point first, about `most_first` at most. `time`:
  /// its budget.
  [[nodiscard]] Visit begin(std::size_t place, const PlannedVisit& planned, const Phase& phase, StopCondition time,
                            std::size_t most_first = Suggestions::kFirst);
  /// Begins a visit that tries `first` first.
  [[nodiscard]] Visit begin(std::size_t place, const PlannedVisit& planned, const Phase& phase, StopCondition time,
                            std::vector<Configuration> first);
  /// Begins a visit that tries what earlier visits of the problem have not tried and the lessons now point to. Nothing
  /// if there is no such configuration.
  [[nodiscard]] std::optional<Visit> begin_again(std::size_t place, const Phase& phase, StopCondition time);
  /// Begins a visit of a problem that has a winner: it tries `configuration` beside that one.
  [[nodiscard]] Visit begin_with(const Problem& problem, const Configuration& configuration, const Phase& phase,
                                 StopCondition time);

  /// Keeps up to `most_active` visits active. The next turn is of who had none for longest, so the order of all
  /// measurements does not depend on how fast anything is; in a run that time ends anyway, who would wait for the
  /// compiler is passed over. `start_next(active)` begins a visit, or returns nothing if there is no further one.
  /// `finish_one(visit)` is called when a visit has nothing left to screen.
  template <class StartNext, class FinishOne>
  void take_turns(std::size_t most_active, StartNext start_next, FinishOne finish_one);

  /// Ends a visit: finals and verification, and the winner goes to the store.
  TuningResult finish(Visit& visit);
  /// Ends a visit without finals: the profile stays, the costs that it screened are learnt.
  TuningResult give_up(Visit& visit);

  /// Keeps a result and tells the user of it.
  void keep(std::size_t place, TuningResult result);
  /// Adds what a revisit found. Returns whether the winner changed; the user is told then.
  bool improve(std::size_t place, const TuningResult& later);
  /// Makes room for one more problem behind the agenda; returns its place.
  std::size_t add_place();

  /// What finished searches took of the time of a run: means in which the last ten or so count most.
  struct Usual {
    double seconds = 0.0;
    double configurations = 0.0;  ///< that each tried
    double first = 0.0;           ///< of these as begin() was told, `most_first`
    std::int64_t searches = 0;
    /// What so many configurations would take.
    [[nodiscard]] double seconds_to_try(std::size_t count) const {
      return searches == 0 ? 0.0 : seconds / configurations * static_cast<double>(count);
    }
  };
  [[nodiscard]] const Usual& usual() const noexcept { return usual_; }

  /// Nothing if the problem was not reached.
  [[nodiscard]] const std::optional<TuningResult>& result(std::size_t place) const { return results_[place]; }
  /// Canonical texts of all configurations that finished visits of the problem tried.
  [[nodiscard]] const std::set<std::string>& tried(std::size_t place) const { return tried_[place]; }
  /// The results of all problems that were reached, by place.
  [[nodiscard]] std::vector<TuningResult> results() const;
  /// The winners of the problems that were asked for.
  [[nodiscard]] std::vector<Profile> winners() const;
  /// The lowest cost of what a visit tried for the first time, beside the winner's; infinite if it tried nothing new.
  [[nodiscard]] double challenge(const Visit& visit) const;

 private:
  [[nodiscard]] Visit begin(std::size_t place, const PlannedVisit& planned, const Phase& phase, StopCondition time,
                            const SearchedProblem& problem, SearchPlan plan);
  [[nodiscard]] std::size_t first_compiled(std::vector<Visit>& active, std::size_t ahead) const;
  void account(const Visit& visit, const TuningResult& result);
  [[nodiscard]] std::optional<double> good_enough(const Problem& problem) const;

  Evaluator& evaluator_;
  ProfileStore& store_;
  const TunerOptions& options_;
  const StrategyEntry& strategy_;
  const StopCondition& stop_;
  Journal& journal_;
  Lessons& lessons_;
  const std::size_t places_;  ///< on the agenda
  Reporter reporter_;
  Pace pace_;
  Usual usual_;
  SearchedProblems problems_;                ///< all that were visited, and some that will be
  std::map<Problem, std::int64_t> numbers_;  ///< of visits of each problem so far
  std::vector<std::set<std::string>> tried_;
  std::vector<std::optional<TuningResult>> results_;
};

template <class StartNext, class FinishOne>
void Visits::take_turns(std::size_t most_active, StartNext start_next, FinishOne finish_one) {
  std::vector<Visit> active;  // who took a turn last is the last
  for (bool more = true;;) {
    while (more && active.size() < most_active) {
      std::optional<Visit> next = start_next(active);
      more = next.has_value();
      if (next) active.push_back(std::move(*next));
    }
    if (active.empty()) return;
    const std::size_t ahead = batches_ahead(active.size(), most_active);
    const auto turn = active.begin() + static_cast<std::ptrdiff_t>(first_compiled(active, ahead));
    if (turn->search->take_turn(ahead)) {
      std::rotate(turn, turn + 1, active.end());
    } else {
      finish_one(*turn);
      active.erase(turn);
      more = true;  // who was refused for want of time may have it now
    }
  }
}

}  // namespace heddle
