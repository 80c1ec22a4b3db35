#include "heddle/tuner/tuner.hpp"

#include <algorithm>
#include <cmath>
#include <list>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "fmt/format.h"
#include "heddle/tuner/coverage.hpp"
#include "heddle/tuner/journal.hpp"
#include "heddle/tuner/known_profiles.hpp"
#include "heddle/tuner/problem_search.hpp"
#include "heddle/tuner/remeasured_profiles.hpp"
#include "heddle/tuner/reporter.hpp"
#include "heddle/tuner/screening.hpp"
#include "heddle/tuner/suggestions.hpp"

namespace heddle {

namespace {

// Shares of the time budget.
constexpr double kFirstPass = 0.6;        // of a run with several problems: for the first search of each
constexpr double kUntunedSizes = 0.6;     // of the time after that: for sizes between the problems
constexpr double kScreeningShare = 0.75;  // of a problem's time: for screening; the rest is for finals and verification
// A revisit starts only if at least this many times the duration of the last revisit is left.
constexpr double kWorthRevisit = 1.0;
// A configuration whose screened cost is below this factor of the winner's may be faster in the finals.
constexpr double kChallengerFactor = 1.02;
// When its environment has changed, a profile is measured again beside so many of the fastest other configurations.
constexpr std::size_t kMaxContenders = 4;
// A default that was stopped in its first run may need up to this many times the time after which it was stopped.
constexpr double kUnknownSlowness = 8.0;
// On a GPU the tuner measures one configuration while it compiles others. It therefore keeps several searches active:
// one per compiler thread, at least 2, at most 16. A batch takes as long as its slowest kernel; the other searches use
// the idle compiler threads meanwhile. More than 16 would hurt, because searches that run side by side cannot learn
// from each other's winners. With one compiler thread, a second search lets it compile while the first one measures.
constexpr std::size_t kMinActive = 2, kMaxActive = 16;
// If fewer searches than this are active, each has several batches in flight, so many in all.
constexpr std::size_t kMaxBatchesAhead = 4;

std::size_t concurrent_searches(const Evaluator& evaluator) {
  if (evaluator.shares_processor()) return 1;
  return std::clamp(evaluator.compiler_threads(), kMinActive, kMaxActive);
}

/// One call of Tuner::tune(): the phases of a tuning run.
class Tuning {
 public:
  Tuning(Evaluator& evaluator, ProfileStore& store, const TunerOptions& options, const TunerCallbacks& callbacks,
         const std::vector<Problem>& problems, StopCondition& stop, const TuningRun& run)
      : evaluator_(evaluator),
        store_(store),
        options_(options),
        callbacks_(callbacks),
        strategy_(strategy(options.strategy)),
        problems_(problems),
        stop_(stop),
        max_active_(concurrent_searches(evaluator)),
        known_(store.profiles_before(run), store.displaced(), evaluator),
        agenda_(known_.agenda(problems, present_environment(evaluator, problems.front(), known_.know_clocks()))),
        reporter_(callbacks, stop, agenda_.size()),
        journal_(store, evaluator, run),
        coverage_(evaluator.family().axes(), problems),
        suggestions_(evaluator, known_),
        tried_(agenda_.size()),
        results_(agenda_.size()) {
    for (const PlannedVisit& visit : agenda_) {
      if (visit.search && visit.profile) coverage_.add_tuned(visit.problem);
    }
    for (const Profile& profile : known_.profiles()) {
      suggestions_.learn(profile.key.problem, known_.parse(journal_.earlier_costs(profile.key.problem)));
    }
  }

  std::vector<TuningResult> tune() {
    const double first_pass = agenda_.size() > 1 ? kFirstPass : 1.0;
    search_each({.begin = 0.0, .length = first_pass});
    const Pass rest{.begin = first_pass, .length = 1.0 - first_pass};
    const std::size_t first_places = agenda_.size();  // before the sizes between the problems are appended
    if (options_.tune_sizes_between) visit_between(rest);
    while (first_places > 1 && revisit_each(first_places, rest)) {
    }
    if (callbacks_.expected_loss) callbacks_.expected_loss(coverage_.expected_loss());
    std::vector<TuningResult> results;
    for (std::optional<TuningResult>& result : results_) {
      if (result) results.push_back(std::move(*result));
    }
    return results;
  }

 private:
  /// A phase of the run, in fractions of the whole run.
  struct Pass {
    double begin, length;
  };

  /// A visit of one problem that has begun and not ended.
  struct ActiveSearch {
    ActiveSearch(Tuning& tuning, std::size_t place, PlannedVisit what, const Pass& pass, StopCondition time)
        : index(place), planned(std::move(what)), time_share(std::move(time)), search(tuning.search_of(*this, pass)) {}
    std::size_t index;
    PlannedVisit planned;
    StopCondition time_share;
    ProblemSearch search;
    std::vector<float> expected;  ///< of each configuration, from other problems
    std::optional<StopCondition> screening_limit;
    std::unique_ptr<Strategy> strategy;
  };

  /// First measures again, one by one, the profiles whose environment has changed. Then searches the other problems,
  /// several at a time.
  void search_each(const Pass& pass) {
    StopCondition stop = stop_.slice(pass.length, 1.0);
    std::size_t next = 0;
    for (; next < agenda_.size() && !agenda_[next].search && (next == 0 || !stop.reached()); ++next) {
      const double share = 1.0 / static_cast<double>(agenda_.size() - next);
      StopCondition slice = stop.slice(share, share);
      store_result(next, recheck_changed(next, pass, slice));
    }
    const auto start_next = [&](std::list<ActiveSearch>& searches) {
      if (next == agenda_.size() || (next > 0 && stop_.reached()) || !bring_best_to(next, searches)) return false;
      ActiveSearch& active = searches.emplace_back(*this, next, agenda_[next], pass, slice_for(stop, searches, next));
      active.search.begin(prepare_suggestions(active));
      ++next;
      return true;
    };
    interleave(start_next, [&](ActiveSearch& active) { store_result(active.index, finish(active)); });
  }

  /// Keeps several searches active. They take turns in a fixed order, so the order of all measurements does not depend
  /// on how fast anything is. `start_next(searches)` appends one search and returns whether it could.
  /// `finish_one(active)` is called when the search has nothing left to screen.
  template <class StartNext, class FinishOne>
  void interleave(StartNext start_next, FinishOne finish_one) {
    std::list<ActiveSearch> searches;
    for (bool more = true; more || !searches.empty();) {
      while (more && searches.size() < max_active_) more = start_next(searches);
      for (auto active = searches.begin(); active != searches.end();) {
        if (advance(*active, batches_ahead(searches.size()))) {
          ++active;
          continue;
        }
        finish_one(*active);
        active = searches.erase(active);
      }
    }
  }

  std::vector<Configuration> prepare_suggestions(ActiveSearch& active) const {
    active.expected = suggestions_.expected(active.search);
    return suggestions_.first(active.search, active.expected);
  }

  /// The part of `stop` for the search at place `next` of the agenda, while `searches` are active.
  StopCondition slice_for(StopCondition& stop, const std::list<ActiveSearch>& searches, std::size_t next) const {
    const auto unstarted = static_cast<double>(agenda_.size() - next);
    const auto unfinished = unstarted + static_cast<double>(searches.size());
    const double of_time = std::min(1.0, static_cast<double>(max_active_) / unfinished);
    const auto left = stop.evaluations_left();
    if (!left || *left == 0) return stop.slice(of_time, 0.0);
    std::int64_t promised = 0;
    for (const ActiveSearch& active : searches) promised += active.time_share.evaluations_left().value_or(0);
    const double share = std::floor(static_cast<double>(*left - promised) / unstarted);
    return stop.slice(of_time, (share + 0.5) / static_cast<double>(*left));  // half an evaluation against rounding
  }

  void store_result(std::size_t index, TuningResult result) {
    results_[index] = std::move(result);
    reporter_.result(*results_[index]);
  }

  static std::vector<Problem> under_way(const std::list<ActiveSearch>& searches) {
    std::vector<Problem> problems;
    for (const ActiveSearch& active : searches) problems.push_back(active.planned.problem);
    return problems;
  }

  /// Of the problems from place `i` of the agenda on that have no profile, moves the most valuable one to place `i`.
  /// The problems of `searches` count as tuned. Returns false if the time left is too short for any of them.
  bool bring_best_to(std::size_t i, const std::list<ActiveSearch>& searches) {
    const auto unknown = [](const PlannedVisit& visit) { return visit.search && !visit.profile; };
    if (!unknown(agenda_[i])) return true;
    std::vector<Problem> left;
    for (std::size_t k = i; k < agenda_.size() && unknown(agenda_[k]); ++k) left.push_back(agenda_[k].problem);
    left = within_time(std::move(left));
    if (left.empty()) return false;
    const Problem& best = left[coverage_.most_valuable(left, under_way(searches))];
    const auto first = agenda_.begin() + static_cast<std::ptrdiff_t>(i);
    const auto chosen =
        std::find_if(first, agenda_.end(), [&](const PlannedVisit& visit) { return visit.problem == best; });
    std::rotate(first, chosen, chosen + 1);
    return true;
  }

  /// After a problem was too large for the budget, drops the problems that are probably too large as well. Keeps the
  /// smallest unless it is certainly too large.
  [[nodiscard]] std::vector<Problem> within_time(std::vector<Problem> problems) const {
    const auto left = stop_.seconds_left_in_total();
    if (seconds_per_operation_ == 0.0 || !left) return problems;
    const double allowed = ProblemSearch::pilot_limit(*left);
    const auto at_least = [&](const Problem& problem) { return seconds_per_operation_ * pilot_operations(problem); };
    const auto smallest = std::min_element(problems.begin(), problems.end(), [&](const Problem& a, const Problem& b) {
      return pilot_operations(a) < pilot_operations(b);
    });
    if (at_least(*smallest) > allowed) return {};
    const Problem last = *smallest;
    std::erase_if(problems, [&](const Problem& problem) { return kUnknownSlowness * at_least(problem) > allowed; });
    return problems.empty() ? std::vector<Problem>{last} : problems;
  }

  /// Arithmetic operations of the pilot run: the untuned default's first run.
  [[nodiscard]] double pilot_operations(const Problem& problem) const {
    const KernelFamily& family = evaluator_.family();
    const Configuration untuned = family.default_configuration(evaluator_.device(), problem);
    const Plan plan = family.plan(untuned, problem, evaluator_.device(), pilot_work(timed_work(evaluator_, problem)));
    return family.work(problem).operations * static_cast<double>(plan.samples);
  }

  /// Learns from a finished search: the costs of its configurations, and how much slower the winners of other problems
  /// are here.
  void learn(const ProblemSearch& search, const TuningResult& result) {
    suggestions_.learn(result.problem, search.costs());
    if (!result.profile) return;
    for (const Profile& other : known_.profiles()) {
      const auto cost = search.cost(other.configuration);
      if (cost && other.key.problem != result.problem) {
        coverage_.learn(other.key.problem, result.problem, *cost / result.profile->time - 1.0);
      }
    }
    coverage_.add_tuned(result.problem);
  }

  /// Measures a profile and its contenders again because its environment has changed. Searches the problem only if the
  /// ranking has moved.
  TuningResult recheck_changed(std::size_t index, const Pass& pass, StopCondition& stop) {
    const PlannedVisit& planned = agenda_[index];
    const auto contending = contenders(store_, evaluator_, *planned.profile, journal_.run(), kMaxContenders);
    TuningResult result = carry_out(index, planned, contending, pass, stop);
    const auto untuned_before = last_time(store_, planned.profile->key, result.untuned.configuration, journal_.run());
    if (!ranking_moved(*planned.profile, untuned_before, result) || stop.reached()) return result;
    PlannedVisit search = planned;
    search.search = true;
    search.profile = result.profile;
    TuningResult found = carry_out(index, search, std::nullopt, pass, stop);
    found.effort += result.effort;
    return found.profile ? found : result;
  }

  /// Makes a few measurements at untuned sizes within the cells of the grid. The sizes whose tuning lowers the expected
  /// loss most come first.
  void visit_between(const Pass& pass) {
    StopCondition stop = stop_.slice(kUntunedSizes, 1.0);
    std::vector<Problem> left = within_cells(problems_, evaluator_.family().axes());
    std::erase_if(left, [&](const Problem& problem) { return known_.find(problem) != nullptr; });
    const auto start_next = [&](std::list<ActiveSearch>& searches) {
      if (left.empty() || stop.reached()) return false;
      const auto chosen =
          left.begin() + static_cast<std::ptrdiff_t>(coverage_.most_valuable(left, under_way(searches)));
      const PlannedVisit planned{.problem = *chosen, .search = false, .profile = {}, .change = {}};
      left.erase(chosen);
      ActiveSearch& active = searches.emplace_back(*this, results_.size(), planned, pass, stop_.slice(1.0, 1.0));
      results_.emplace_back();
      tried_.emplace_back();
      active.search.begin(prepare_suggestions(active));
      return true;
    };
    interleave(start_next, [&](ActiveSearch& active) {
      TuningResult result = finish(active);
      result.is_between = true;
      store_result(active.index, std::move(result));
    });
  }

  /// One round of revisits over all problems. A revisit tries the present winners of similar problems and the
  /// configurations that the transfer model now expects to be fast. Problems with the fewest tried configurations come
  /// first. New finals are run only where a new configuration is about as fast as the winner. Returns whether another
  /// round is worthwhile.
  bool revisit_each(std::size_t places, const Pass& pass) {
    std::vector<std::size_t> order(places);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return tried_[a].size() < tried_[b].size(); });
    std::size_t next = 0;
    bool improved = false;
    const auto start_next = [&](std::list<ActiveSearch>& searches) {
      // Nothing is compiled that could not be measured before the budget ends.
      const double least = kWorthRevisit * revisit_seconds_;
      const auto enough = [&] { return !stop_.reached() && stop_.seconds_left().value_or(least) >= least; };
      for (; next < order.size() && enough(); ++next) {
        const std::size_t place = order[next];
        if (!results_[place] || !results_[place]->searched || !results_[place]->profile) continue;
        const TuningResult& result = *results_[place];
        const PlannedVisit again{.problem = result.problem, .search = false, .profile = result.profile, .change = {}};
        ActiveSearch& active = searches.emplace_back(*this, place, again, pass, stop_.slice(1.0, 1.0));
        const std::vector<Configuration> list = suggestions_.later(active.search, tried_[place], *result.profile);
        if (!list.empty()) {
          active.search.begin(list);
          ++next;
          return true;
        }
        --visit_numbers_[result.problem];
        searches.pop_back();
      }
      return false;
    };
    interleave(start_next, [&](ActiveSearch& active) {
      TuningResult& result = *results_[active.index];
      revisit_seconds_ = active.time_share.seconds_used();
      const bool challenged = found_challenger(active, result);
      if (!result.improve(challenged ? finish(active) : give_up(active))) return;
      improved = true;
      reporter_.result(result);
    });
    return improved && !stop_.reached();
  }

  /// Whether a configuration that this visit tried for the first time may be faster than the winner.
  [[nodiscard]] bool found_challenger(const ActiveSearch& active, const TuningResult& before) const {
    if (!before.profile) return true;
    const auto winner = active.search.cost(before.profile->configuration);
    for (const std::string& text : active.search.tried()) {
      const auto cost = active.search.cost(text);
      const bool fresh = !tried_[active.index].contains(text);
      if (fresh && cost && (!winner || *cost < kChallengerFactor * *winner)) return true;
    }
    return false;
  }

  /// Ends a visit without finals: the profile stays, the screening's costs are learnt.
  TuningResult give_up(ActiveSearch& active) {
    tried_[active.index].merge(active.search.tried());
    TuningResult result = active.search.result();
    learn(active.search, result);
    reporter_.finished(active.index, result);
    return result;
  }

  /// The cost at which a search may end: the roofline bound divided by TunerOptions::target; microseconds per sample.
  [[nodiscard]] std::optional<double> good_enough(const Problem& problem) const {
    if (!options_.target) return std::nullopt;
    const Work work = evaluator_.family().work(problem);
    const auto seconds = [](double amount, double rate) { return rate > 0.0 ? amount / rate : 0.0; };
    const double floor = std::max(seconds(work.bytes, options_.peak_bytes_per_second),
                                  seconds(work.operations, options_.peak_operations_per_second));
    return floor * 1e6 / *options_.target;
  }

  ProblemSearch search_of(ActiveSearch& active, const Pass& pass) {
    const double share = pass.length / static_cast<double>(agenda_.size());
    const double fraction_before = pass.begin + share * static_cast<double>(std::min(active.index, agenda_.size() - 1));
    return {evaluator_,
            journal_,
            options_,
            active.planned.problem,
            ++visit_numbers_[active.planned.problem],
            active.time_share,
            [this, index = active.index, fraction_before, share](Stage stage, const ProblemSearch& now) {
              reporter_.progress(index, fraction_before, share, stage, now);
            }};
  }

  [[nodiscard]] std::size_t batches_ahead(std::size_t searches) const {
    return std::max<std::size_t>(1, std::min(max_active_, kMaxBatchesAhead) / searches);
  }

  /// The next turn of a search: measures one batch. Returns false when only finals and verification are left.
  bool advance(ActiveSearch& active, std::size_t ahead) {
    if (active.strategy) return active.search.screen(*active.strategy, *active.screening_limit, ahead, batch_seconds_);
    active.search.screen_first();
    if (active.search.out_of_time()) return false;
    if (batch_seconds_ == 0.0)
      batch_seconds_ = active.time_share.seconds_used();  // a first guess: the time of the first configurations
    if (!active.planned.search) return false;
    active.screening_limit = active.time_share.slice(kScreeningShare, 1.0);
    active.screening_limit->end_early(
        {.without_gain = options_.patience, .good_enough = good_enough(active.planned.problem)});
    active.strategy = strategy_.make({.configurations = active.search.configurations(),
                                      .seed = options_.seed,
                                      .expected = std::move(active.expected)});
    return active.search.screen(*active.strategy, *active.screening_limit, ahead, batch_seconds_);
  }

  /// Carries out a whole visit of one problem. `first`: the configurations to try first; by default those of
  /// prepare_suggestions().
  TuningResult carry_out(std::size_t index, const PlannedVisit& planned,
                         const std::optional<std::vector<Configuration>>& first, const Pass& pass,
                         StopCondition& stop) {
    ActiveSearch active(*this, index, planned, pass, stop.slice(1.0, 1.0));
    active.search.begin(first ? *first : prepare_suggestions(active));
    while (advance(active, batches_ahead(1))) {
    }
    return finish(active);
  }

  TuningResult finish(ActiveSearch& active) {
    ProblemSearch& search = active.search;
    const PlannedVisit& planned = active.planned;
    search.decide();
    tried_[active.index].merge(search.tried());

    TuningResult result = search.result();
    learn(search, result);
    if (result.out_of_time) {
      seconds_per_operation_ = std::max(seconds_per_operation_, *result.out_of_time / pilot_operations(result.problem));
    }
    result.searched = planned.search;
    result.change = planned.change;
    if (result.profile) {
      const std::vector<Measurement> finals = search.take_finals();
      store_.atomically([&] {
        store_.record(finals);
        const bool stored_was_remeasured =
            !planned.profile || tried_[active.index].contains(planned.profile->configuration);
        result.was_stored = keep_winner(store_, planned, *result.profile, stored_was_remeasured);
        store_.spent(journal_.run(), stop_.seconds_used_in_total());
      });
      if (result.was_stored) known_.add(*result.profile);
    }
    reporter_.finished(active.index, result);
    return result;
  }

  Evaluator& evaluator_;
  ProfileStore& store_;
  const TunerOptions& options_;
  const TunerCallbacks& callbacks_;
  const StrategyEntry& strategy_;
  const std::vector<Problem>& problems_;
  StopCondition& stop_;
  const std::size_t max_active_;  ///< searches that may be active at a time
  double batch_seconds_ = 0.0;    ///< seconds that the last batch of any search took
  double revisit_seconds_ = 0.0;  ///< seconds that the last revisit took
  /// A lower bound, from the slowest untuned default that was stopped for want of time; 0 while there was none.
  double seconds_per_operation_ = 0.0;
  KnownProfiles known_;
  std::vector<PlannedVisit> agenda_;
  Reporter reporter_;
  Journal journal_;
  Coverage coverage_;
  Suggestions suggestions_;
  std::map<Problem, std::int64_t> visit_numbers_;     ///< number of visits of each problem so far
  std::vector<std::set<std::string>> tried_;          ///< canonical texts, by place in the agenda
  std::vector<std::optional<TuningResult>> results_;  ///< by place in the agenda; nothing for problems not reached
};

}  // namespace

Tuner::Tuner(Evaluator& evaluator, ProfileStore& store, TunerOptions options, TunerCallbacks callbacks)
    : evaluator_(evaluator), store_(store), options_(std::move(options)), callbacks_(std::move(callbacks)) {}

std::vector<TuningResult> Tuner::tune(const std::vector<Problem>& problems, StopCondition& stop) {
  const TuningRun run = store_.begin_run(task(problems));
  stop.add_seconds_used(run.seconds);
  auto results = tune(problems, stop, run);
  store_.end_run(run, !stop.interrupted());
  return results;
}

std::vector<TuningResult> Tuner::tune(const std::vector<Problem>& problems, StopCondition& stop, const TuningRun& run) {
  if (problems.empty()) return {};
  try {
    return Tuning(evaluator_, store_, options_, callbacks_, problems, stop, run).tune();
  } catch (const Interrupted&) {  // while it asked the device between two searches
    return {};
  }
}

std::string Tuner::task(const std::vector<Problem>& problems) const {
  const KernelFamily& family = evaluator_.family();
  const DeviceIdentity& device = evaluator_.device();
  const Provenance provenance = evaluator_.provenance();
  // Stored in the database: a change of the words forgets which runs can be continued.
  std::string task = fmt::format(
      "{} {} on {}; driver {}; compiler {}; strategy {} seed {} screening {} hopeless {} finalists {} rounds {} to {} "
      "abreast {} between {}",
      family.name(), family.source(device.backend).hash(), device.text(), provenance.driver, provenance.compiler,
      options_.strategy, options_.seed, options_.screening_repetitions, options_.prune_factor, options_.finalists,
      options_.minimum_repetitions, options_.maximum_repetitions, concurrent_searches(evaluator_),
      options_.tune_sizes_between);
  for (const Problem& problem : problems) task += fmt::format("\n{}", problem.text());
  return task;
}

}  // namespace heddle
