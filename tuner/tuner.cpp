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
#include "heddle/tuner/agenda.hpp"
#include "heddle/tuner/coverage.hpp"
#include "heddle/tuner/journal.hpp"
#include "heddle/tuner/problem_search.hpp"
#include "heddle/tuner/reporter.hpp"
#include "heddle/tuner/screening.hpp"
#include "heddle/tuner/suggestions.hpp"

namespace heddle {

namespace {

constexpr double kFirstPass = 0.6;        // of the time of a run, if there are several problems
constexpr double kBetween = 0.6;          // of what is left then, for sizes between the problems
constexpr double kScreeningShare = 0.75;  // of a problem's time; the rest is for finals and verification
constexpr double kWorthVisit = 1.0;       // of what a visit took last: with less time left none is begun
constexpr double kContends = 1.02;        // times the winner's cost, screened: may be faster than it
constexpr std::size_t kContenders = 4;    // that a profile has to beat again when its environment has changed
// A default that was stopped may have taken so many times as long.
constexpr double kUnknownSlowness = 8.0;
// Where one can be measured while others are compiled, as many searches go on at a time as there are threads that
// compile: a batch takes as long as its slowest kernel, and while one waits for that, the threads work for others. More
// than the most would only know less of each other's winners; even one thread should not wait while there is measuring.
constexpr std::size_t kMinActive = 2, kMaxActive = 16;
// Batches under way of all searches together, if there are fewer searches than that.
constexpr std::size_t kMaxBatchesAhead = 4;

std::size_t concurrent_searches(const Evaluator& evaluator) {
  if (evaluator.shares_processor()) return 1;
  return std::clamp(evaluator.compiler_threads(), kMinActive, kMaxActive);
}

/// One call of Tuner::tune().
class Run {
 public:
  Run(Evaluator& evaluator, ProfileStore& store, const TunerOptions& options, const TunerCallbacks& callbacks,
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
    for (const Visit& visit : agenda_) {
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
    const std::size_t asked_for = agenda_.size();
    if (options_.between) visit_between(rest);
    while (asked_for > 1 && revisit_each(asked_for, rest)) {
    }
    if (callbacks_.expected_loss) callbacks_.expected_loss(coverage_.expected_loss());
    std::vector<TuningResult> reached;
    for (std::optional<TuningResult>& result : results_) {
      if (result) reached.push_back(std::move(*result));
    }
    return reached;
  }

 private:
  /// Parts of the whole run.
  struct Pass {
    double begin, length;
  };

  /// One visit under way.
  struct ActiveSearch {
    ActiveSearch(Run& run, std::size_t place, Visit what, const Pass& pass, StopCondition time)
        : index(place), visit(std::move(what)), slice(std::move(time)), search(run.search_of(*this, pass)) {}
    std::size_t index;
    Visit visit;
    StopCondition slice;
    ProblemSearch search;
    std::vector<float> expected;  ///< of each configuration, from other problems
    std::optional<StopCondition> screening;
    std::unique_ptr<Strategy> order;
  };

  /// What has changed since it was measured first, one by one; then searches, several interleaved: while one is
  /// measured, the compiler works for the others. They take turns, so that their order does not depend on how fast
  /// anything is.
  void search_each(const Pass& pass) {
    StopCondition stop = stop_.part(pass.length, 1.0);
    std::size_t next = 0;
    for (; next < agenda_.size() && !agenda_[next].search && (next == 0 || !stop.reached()); ++next) {
      const double share = 1.0 / static_cast<double>(agenda_.size() - next);
      StopCondition slice = stop.part(share, share);
      conclude(next, measure_again(next, pass, slice));
    }
    const auto begin = [&](std::list<ActiveSearch>& searches) {
      if (next == agenda_.size() || (next > 0 && stop_.reached()) || !choose(next, searches)) return false;
      ActiveSearch& active = searches.emplace_back(*this, next, agenda_[next], pass, slice_for(stop, searches, next));
      active.search.begin(first_at(active));
      ++next;
      return true;
    };
    interleave(begin, [&](ActiveSearch& active) { conclude(active.index, finish(active)); });
  }

  /// Visits, several at a time. `begin`: adds one more; false if there is none. `end`: when nothing is left but to
  /// decide.
  template <class Begin, class End>
  void interleave(Begin begin, End end) {
    std::list<ActiveSearch> searches;
    for (bool more = true; more || !searches.empty();) {
      while (more && searches.size() < max_active_) more = begin(searches);
      for (auto active = searches.begin(); active != searches.end();) {
        if (advance(*active, batches_ahead(searches.size()))) {
          ++active;
          continue;
        }
        end(*active);
        active = searches.erase(active);
      }
    }
  }

  std::vector<Configuration> first_at(ActiveSearch& active) const {
    active.expected = suggestions_.expected(active.search);
    return suggestions_.first(active.search, active.expected);
  }

  /// The part of `stop` for the search at place `next`, beside those in `searches`.
  StopCondition slice_for(StopCondition& stop, const std::list<ActiveSearch>& searches, std::size_t next) const {
    const auto unstarted = static_cast<double>(agenda_.size() - next);
    const auto unfinished = unstarted + static_cast<double>(searches.size());
    const double of_time = std::min(1.0, static_cast<double>(max_active_) / unfinished);
    const auto left = stop.evaluations_left();
    if (!left || *left == 0) return stop.part(of_time, 0.0);
    std::int64_t promised = 0;
    for (const ActiveSearch& active : searches) promised += active.slice.evaluations_left().value_or(0);
    const double share = std::floor(static_cast<double>(*left - promised) / unstarted);
    return stop.part(of_time, (share + 0.5) / static_cast<double>(*left));  // half of one against rounding
  }

  void conclude(std::size_t index, TuningResult result) {
    results_[index] = std::move(result);
    reporter_.result(*results_[index]);
  }

  static std::vector<Problem> under_way(const std::list<ActiveSearch>& searches) {
    std::vector<Problem> problems;
    for (const ActiveSearch& active : searches) problems.push_back(active.visit.problem);
    return problems;
  }

  /// Brings the problem that is worth most, beside those in `searches`, to place `i` of the agenda, among those without
  /// a profile that are left. Returns false if the time is too short for any of them.
  bool choose(std::size_t i, const std::list<ActiveSearch>& searches) {
    const auto unknown = [](const Visit& visit) { return visit.search && !visit.profile; };
    if (!unknown(agenda_[i])) return true;
    std::vector<Problem> left;
    for (std::size_t k = i; k < agenda_.size() && unknown(agenda_[k]); ++k) left.push_back(agenda_[k].problem);
    left = within_time(std::move(left));
    if (left.empty()) return false;
    const Problem& best = left[coverage_.next(left, under_way(searches))];
    const auto first = agenda_.begin() + static_cast<std::ptrdiff_t>(i);
    const auto chosen = std::find_if(first, agenda_.end(), [&](const Visit& visit) { return visit.problem == best; });
    std::rotate(first, chosen, chosen + 1);
    return true;
  }

  /// Once a problem was too large for the budget: those that can be expected to be small enough, or else the smallest,
  /// unless that is too large for certain.
  [[nodiscard]] std::vector<Problem> within_time(std::vector<Problem> problems) const {
    const auto left = stop_.seconds_left_of_whole();
    if (seconds_per_operation_ == 0.0 || !left) return problems;
    const double allowed = ProblemSearch::first_run_seconds(*left);
    const auto at_least = [&](const Problem& problem) { return seconds_per_operation_ * first_run(problem); };
    const auto smallest = std::min_element(problems.begin(), problems.end(), [&](const Problem& a, const Problem& b) {
      return first_run(a) < first_run(b);
    });
    if (at_least(*smallest) > allowed) return {};
    const Problem last = *smallest;
    std::erase_if(problems, [&](const Problem& problem) { return kUnknownSlowness * at_least(problem) > allowed; });
    return problems.empty() ? std::vector<Problem>{last} : problems;
  }

  /// Operations of the untuned default's first run.
  [[nodiscard]] double first_run(const Problem& problem) const {
    const KernelFamily& family = evaluator_.family();
    const Configuration untuned = family.default_configuration(evaluator_.device(), problem);
    const Plan plan = family.plan(untuned, problem, evaluator_.device(), kPilotSamples);
    return family.cost(problem).operations * static_cast<double>(plan.samples);
  }

  /// What the winners of other problems lose here.
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

  /// A handful of measurements where something has changed since a profile was made; a search only where the ranking
  /// has moved.
  TuningResult measure_again(std::size_t index, const Pass& pass, StopCondition& stop) {
    const Visit& first = agenda_[index];
    const auto before = contenders(store_, evaluator_, *first.profile, journal_.run(), kContenders);
    TuningResult result = visit(index, first, before, pass, stop);
    const auto baseline = last_time(store_, first.profile->key, result.baseline.configuration, journal_.run());
    if (!ranking_moved(*first.profile, baseline, result) || stop.reached()) return result;
    Visit search = first;
    search.search = true;
    search.profile = result.profile;
    TuningResult found = visit(index, search, std::nullopt, pass, stop);
    found.effort += result.effort;
    return found.profile ? found : result;
  }

  /// A few measurements each within cells, at sizes that have no profile yet, those first that lower the expected loss
  /// most.
  void visit_between(const Pass& pass) {
    StopCondition stop = stop_.part(kBetween, 1.0);
    std::vector<Problem> left = within_cells(problems_, evaluator_.family().axes());
    std::erase_if(left, [&](const Problem& problem) { return known_.find(problem) != nullptr; });
    const auto begin = [&](std::list<ActiveSearch>& searches) {
      if (left.empty() || stop.reached()) return false;
      const auto chosen = left.begin() + static_cast<std::ptrdiff_t>(coverage_.next(left, under_way(searches)));
      const Visit visit{.problem = *chosen, .search = false, .profile = {}, .change = {}};
      left.erase(chosen);
      ActiveSearch& active = searches.emplace_back(*this, results_.size(), visit, pass, stop_.part(1.0, 1.0));
      results_.emplace_back();
      tried_.emplace_back();
      active.search.begin(first_at(active));
      return true;
    };
    interleave(begin, [&](ActiveSearch& active) {
      TuningResult result = finish(active);
      result.between = true;
      conclude(active.index, std::move(result));
    });
  }

  /// A round over all problems, those first at which the least was tried: what won meanwhile for others like them, and
  /// what all measurements together make expect. A winner has to prove itself again only where one of these is about as
  /// fast. Returns whether another round is worth while.
  bool revisit_each(std::size_t places, const Pass& pass) {
    std::vector<std::size_t> order(places);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return tried_[a].size() < tried_[b].size(); });
    std::size_t next = 0;
    bool improved = false;
    const auto begin = [&](std::list<ActiveSearch>& searches) {
      // What would not be tried before the end shall not be compiled.
      const double least = kWorthVisit * round_trip_;
      const auto enough = [&] { return !stop_.reached() && stop_.seconds_left().value_or(least) >= least; };
      for (; next < order.size() && enough(); ++next) {
        const std::size_t place = order[next];
        if (!results_[place] || !results_[place]->searched || !results_[place]->profile) continue;
        const TuningResult& result = *results_[place];
        const Visit again{.problem = result.problem, .search = false, .profile = result.profile, .change = {}};
        ActiveSearch& active = searches.emplace_back(*this, place, again, pass, stop_.part(1.0, 1.0));
        const std::vector<Configuration> list = suggestions_.later(active.search, tried_[place], *result.profile);
        if (!list.empty()) {
          active.search.begin(list);
          ++next;
          return true;
        }
        --visits_[result.problem];
        searches.pop_back();
      }
      return false;
    };
    interleave(begin, [&](ActiveSearch& active) {
      TuningResult& result = *results_[active.index];
      round_trip_ = active.slice.seconds_used();
      const bool contends = contended(active, result);
      if (!result.improve(contends ? finish(active) : give_up(active))) return;
      improved = true;
      reporter_.result(result);
    });
    return improved && !stop_.reached();
  }

  /// Whether something that was tried on this visit for the first time may be faster than the winner.
  [[nodiscard]] bool contended(const ActiveSearch& active, const TuningResult& before) const {
    if (!before.profile) return true;
    const auto winner = active.search.cost(before.profile->configuration);
    for (const std::string& text : active.search.tried()) {
      const auto cost = active.search.cost(text);
      const bool fresh = !tried_[active.index].contains(text);
      if (fresh && cost && (!winner || *cost < kContends * *winner)) return true;
    }
    return false;
  }

  /// A visit that leaves everything as it was.
  TuningResult give_up(ActiveSearch& active) {
    tried_[active.index].merge(active.search.tried());
    TuningResult result = active.search.result();
    learn(active.search, result);
    reporter_.finished(active.index, result);
    return result;
  }

  /// Microseconds per sample that are near enough to the physical floor.
  [[nodiscard]] std::optional<double> good_enough(const Problem& problem) const {
    if (!options_.target) return std::nullopt;
    const Cost cost = evaluator_.family().cost(problem);
    const auto seconds = [](double amount, double rate) { return rate > 0.0 ? amount / rate : 0.0; };
    const double floor = std::max(seconds(cost.bytes, options_.peak_bytes_per_second),
                                  seconds(cost.operations, options_.peak_operations_per_second));
    return floor * 1e6 / *options_.target;
  }

  ProblemSearch search_of(ActiveSearch& active, const Pass& pass) {
    const double share = pass.length / static_cast<double>(agenda_.size());
    const double before = pass.begin + share * static_cast<double>(std::min(active.index, agenda_.size() - 1));
    return {evaluator_,
            journal_,
            options_,
            active.visit.problem,
            ++visits_[active.visit.problem],
            active.slice,
            [this, index = active.index, before, share](Stage stage, const ProblemSearch& now) {
              reporter_.progress(index, before, share, stage, now);
            }};
  }

  [[nodiscard]] std::size_t batches_ahead(std::size_t searches) const {
    return std::max<std::size_t>(1, std::min(max_active_, kMaxBatchesAhead) / searches);
  }

  /// The next turn of a search. Returns false when there is nothing left but to decide.
  bool advance(ActiveSearch& active, std::size_t ahead) {
    if (active.order) return active.search.screen(*active.order, *active.screening, ahead, turn_);
    active.search.screen_first();
    if (active.search.out_of_time()) return false;
    if (turn_ == 0.0) turn_ = active.slice.seconds_used();  // until it is known, what the first ones took
    if (!active.visit.search) return false;
    active.screening = active.slice.part(kScreeningShare, 1.0);
    active.screening->satisfied_by(
        {.without_gain = options_.patience, .good_enough = good_enough(active.visit.problem)});
    active.order = strategy_.make({.configurations = active.search.configurations(),
                                   .seed = options_.seed,
                                   .expected = std::move(active.expected)});
    return active.search.screen(*active.order, *active.screening, ahead, turn_);
  }

  /// `first`: what is tried first; first_at(), if nothing is said.
  TuningResult visit(std::size_t index, const Visit& visit, const std::optional<std::vector<Configuration>>& first,
                     const Pass& pass, StopCondition& stop) {
    ActiveSearch active(*this, index, visit, pass, stop.part(1.0, 1.0));
    active.search.begin(first ? *first : first_at(active));
    while (advance(active, batches_ahead(1))) {
    }
    return finish(active);
  }

  TuningResult finish(ActiveSearch& active) {
    ProblemSearch& search = active.search;
    const Visit& visit = active.visit;
    search.decide();
    tried_[active.index].merge(search.tried());

    TuningResult result = search.result();
    learn(search, result);
    if (result.out_of_time) {
      seconds_per_operation_ = std::max(seconds_per_operation_, *result.out_of_time / first_run(result.problem));
    }
    result.searched = visit.search;
    result.change = visit.change;
    if (result.profile) {
      store_.atomically([&] {
        store_.record(search.take_finals());
        const bool met = !visit.profile || tried_[active.index].contains(visit.profile->configuration);
        result.kept = keep_winner(store_, visit, *result.profile, met);
        store_.spent(journal_.run(), stop_.seconds_of_whole());
      });
      if (result.kept) known_.add(*result.profile);
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
  const std::size_t max_active_;  ///< searches at a time
  double turn_ = 0.0;             ///< seconds that a batch took last, in any search
  double round_trip_ = 0.0;       ///< seconds that a visit of a later round took last
  /// At least, of an untuned default that was too slow for the budget; 0 while there was none.
  double seconds_per_operation_ = 0.0;
  KnownProfiles known_;
  std::vector<Visit> agenda_;
  Reporter reporter_;
  Journal journal_;
  Coverage coverage_;
  Suggestions suggestions_;
  std::map<Problem, std::int64_t> visits_;            ///< so far
  std::vector<std::set<std::string>> tried_;          ///< canonical texts, by place in the agenda
  std::vector<std::optional<TuningResult>> results_;  ///< likewise; nothing where the run did not get to
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
    return Run(evaluator_, store_, options_, callbacks_, problems, stop, run).tune();
  } catch (const Interrupted&) {  // while it looked at the device, between two searches
    return {};
  }
}

std::string Tuner::task(const std::vector<Problem>& problems) const {
  const KernelFamily& family = evaluator_.family();
  const DeviceIdentity& device = evaluator_.device();
  const Provenance provenance = evaluator_.provenance();
  std::string task = fmt::format(
      "{} {} on {}; driver {}; compiler {}; strategy {} seed {} screening {} hopeless {} finalists {} rounds {} to {} "
      "abreast {} between {}",
      family.name(), family.source(device.backend).hash(), device.text(), provenance.driver, provenance.compiler,
      options_.strategy, options_.seed, options_.screening_repetitions, options_.hopeless, options_.finalists,
      options_.minimum_repetitions, options_.maximum_repetitions, concurrent_searches(evaluator_), options_.between);
  for (const Problem& problem : problems) task += fmt::format("\n{}", problem.text());
  return task;
}

}  // namespace heddle
