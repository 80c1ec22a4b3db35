#include "heddle/tuner/tuner.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "fmt/format.h"
#include "heddle/tuner/coverage.hpp"
#include "heddle/tuner/environment.hpp"
#include "heddle/tuner/journal.hpp"
#include "heddle/tuner/known_profiles.hpp"
#include "heddle/tuner/lessons.hpp"
#include "heddle/tuner/model_fit.hpp"
#include "heddle/tuner/remeasured_profiles.hpp"
#include "heddle/tuner/schedule.hpp"
#include "heddle/tuner/visits.hpp"
#include "heddle/tuner/winner_trials.hpp"

namespace heddle {

namespace {

// Shares of the time budget.
constexpr double kFirstPass = 0.6;     // of a run with several problems: for the first search of each
constexpr double kUntunedSizes = 0.6;  // of the time after that: for sizes between the problems
// What a problem is taken to need for a value of what is chosen last, as a part of a search: one kernel, and finals and
// a verification where it is faster.
constexpr double kLateChoice = 0.5;
// How long the last searches of a run are taken to be, as a part of the usual time: they have less to try.
constexpr double kLateSearch = 0.75;
// Configurations that a search tries at least, however short the time is: the untuned default, and those to which other
// sizes point most.
constexpr std::size_t kFewest = 3;
// A revisit starts only if at least this many times the duration of the last revisit is left.
constexpr double kWorthRevisit = 1.0;
// A configuration whose screened cost is below this factor of the winner's may be faster in the finals.
constexpr double kChallengerFactor = 1.02;
// When its environment has changed, a profile is measured again beside so many of the fastest other configurations.
constexpr std::size_t kMaxContenders = 4;

/// One call of Tuner::tune(): the phases of a tuning run.
class Tuning {
 public:
  Tuning(Evaluator& evaluator, ProfileStore& store, const TunerOptions& options, const TunerCallbacks& callbacks,
         PoolShare pool, const std::vector<Problem>& problems, StopCondition& stop, const TuningRun& run)
      : evaluator_(evaluator),
        store_(store),
        options_(options),
        callbacks_(callbacks),
        pool_(pool),
        problems_(problems),
        stop_(stop),
        most_active_(concurrent_searches(evaluator)),
        known_(store.profiles_before(run), store.displaced(), evaluator, options.goal()),
        agenda_(known_.agenda(problems, present_environment(evaluator, problems.front(), known_.know_clocks()))),
        journal_(store, evaluator, run, options),
        models_(store.models_before(run)),
        lessons_(evaluator, known_, problems, agenda_, journal_, models_),
        schedule_(lessons_, stop, agenda_, most_active_, pool),
        visits_(evaluator, store, options, callbacks, stop, journal_, lessons_, agenda_, pool),
        trials_(evaluator, options, stop, lessons_, visits_, agenda_.size(), most_active_) {}

  std::vector<TuningResult> tune() {
    const Phase first{.begin = 0.0, .length = agenda_.size() > 1 ? kFirstPass : 1.0};
    const Phase rest{.begin = first.length, .length = 1.0 - first.length};
    StopCondition time = stop_.slice(first.length, 1.0 - trials_.reserve());
    remeasure_changed(first, time);
    search_each(first, time);
    trials_.try_last_choices(rest);
    trials_.try_single_mappings(rest);
    if (options_.tune_sizes_between) visit_between(rest);
    do {
      do {
        if (pool_.pool != nullptr) search_each(rest, stop_);  // what a run that failed has left
      } while (agenda_.size() > 1 && revisit_each(rest));
    } while (pool_.wait_for_more([this] { return stop_.reached() || stop_.interrupted(); }));
    lessons_.count_as_tuned(pool_.taken_by_others());
    if (callbacks_.expected_loss && lessons_.coverage().is_complete()) {
      callbacks_.expected_loss(lessons_.coverage().expected_loss());
    }
    conclude();
    return visits_.results();
  }

 private:
  /// Measures again, one by one, the profiles whose environment has changed.
  void remeasure_changed(const Phase& phase, StopCondition& time) {
    while (schedule_.taken() == 0 || !time.reached()) {
      const auto place = schedule_.take_remeasurement();
      if (!place) return;
      StopCondition share = schedule_.even_share(time);
      visits_.keep(*place, remeasure(*place, phase, share));
    }
  }

  /// Measures a profile and its contenders again. Searches the problem only if the ranking has moved.
  TuningResult remeasure(std::size_t place, const Phase& phase, StopCondition& time) {
    const PlannedVisit& planned = schedule_.at(place);
    const Profile& before = *planned.profile;
    auto contending = contenders(store_, evaluator_, before, journal_.run(), kMaxContenders, options_.cold_cache);
    Visit visit = visits_.begin(place, planned, phase, time.slice(1.0, 1.0), std::move(contending));
    TuningResult result = carry_out(visit);
    const auto untuned_before =
        last_time(store_, before.key, result.untuned.configuration, journal_.run(), options_.cold_cache);
    if (!ranking_moved(before, untuned_before, result) || time.reached()) return result;
    const PlannedVisit again{
        .problem = planned.problem, .search = true, .profile = result.profile, .change = planned.change};
    Visit search = visits_.begin(place, again, phase, time.slice(1.0, 1.0));
    TuningResult found = carry_out(search);
    found.effort += result.effort;
    return found.profile ? found : result;
  }

  TuningResult carry_out(Visit& visit) {
    while (visit.search->take_turn(batches_ahead(1, most_active_))) {
    }
    return visits_.finish(visit);
  }

  /// Searches the problems of the agenda, several at a time.
  void search_each(const Phase& phase, StopCondition& time) {
    // A search that is begun gets a profile, whatever the budget, and ends after all that are active. So none is begun
    // while these would take the rest of the time.
    const auto has_time = [&](std::size_t active) {
      const double of_active = kLateSearch * visits_.usual().seconds * static_cast<double>(active);
      return stop_.seconds_left().value_or(of_active) >= of_active;
    };
    const auto start_next = [&](const std::vector<Visit>& active) -> std::optional<Visit> {
      if (schedule_.taken() > 0 && (stop_.reached() || !has_time(active.size()))) return std::nullopt;
      const auto place = schedule_.take(under_way(active));
      if (!place) return std::nullopt;
      return visits_.begin(*place, schedule_.at(*place), phase,
                           schedule_.share(time, active.size(), evaluations_left(active)),
                           first_configurations(active.size()));
    };
    visits_.take_turns(most_active_, start_next,
                       [&](Visit& visit) { visits_.keep(visit.place, visits_.finish(visit)); });
  }

  /// How many configurations a search tries first: the usual number, or fewer where searches have so far taken longer
  /// than there is time for each that is left, so that no problem ends with its untuned default for lack of time. What
  /// searches try besides is out of its reach.
  [[nodiscard]] std::size_t first_configurations(std::size_t active) {
    constexpr double kUsual = Suggestions::kFirst;
    const auto left = stop_.seconds_left();
    const Visits::Usual& usual = visits_.usual();
    if (!left || usual.searches == 0) return Suggestions::kFirst;
    const double later = kLateChoice * static_cast<double>(trials_.late_choices());
    const double may_take = *left / (schedule_.unstarted() + static_cast<double>(active) + later);
    const double too_many = usual.configurations * (1.0 - may_take / usual.seconds);
    return static_cast<std::size_t>(std::clamp(usual.first - too_many, double{kFewest}, kUsual));
  }

  /// Problems that count as tuned although this run has no result of them.
  [[nodiscard]] std::vector<Problem> under_way(const std::vector<Visit>& active) const {
    std::vector<Problem> problems = problems_of(active);
    std::ranges::move(pool_.taken_by_others(), std::back_inserter(problems));
    return problems;
  }

  /// Makes a few measurements at untuned sizes within the cells of the grid. The sizes whose tuning lowers the expected
  /// loss most come first.
  void visit_between(const Phase& phase) {
    const StopCondition time = stop_.slice(kUntunedSizes, 1.0);
    std::vector<Problem> left = within_cells(problems_, evaluator_.family().axes());
    std::erase_if(left, [&](const Problem& problem) { return known_.find(problem) != nullptr; });
    // Those that are begun together end together: with less time, none would get beyond its default.
    const double of_visits =
        static_cast<double>(std::min(most_active_, left.size())) * visits_.usual().seconds_to_try(Suggestions::kFirst);
    const auto start_next = [&](const std::vector<Visit>& active) -> std::optional<Visit> {
      PlannedVisit planned{.problem = {}, .search = false, .profile = {}, .change = {}};
      do {
        if (left.empty() || time.reached() || time.seconds_left().value_or(of_visits) < of_visits) return std::nullopt;
        const auto chosen =
            left.begin() + static_cast<std::ptrdiff_t>(lessons_.coverage().most_valuable(left, under_way(active)));
        planned.problem = *chosen;
        left.erase(chosen);
      } while (!pool_.take(planned.problem));
      return visits_.begin(visits_.add_place(), planned, phase, stop_.slice(1.0, 1.0));
    };
    visits_.take_turns(most_active_, start_next, [&](Visit& visit) {
      // A profile would stand before what the neighbours of its size say. That has to have been tried.
      const std::size_t least = std::min(kFewest, visit.search->problem().count());
      if (stop_.reached() && visit.search->attempts().tried().size() < least) {
        visits_.give_up(visit);
        return;
      }
      TuningResult result = visits_.finish(visit);
      result.is_between = true;
      visits_.keep(visit.place, std::move(result));
    });
  }

  /// One round of revisits over all problems. A revisit tries the present winners of similar problems and the
  /// configurations that the transfer model now expects to be fast. Problems with the fewest tried configurations come
  /// first. New finals are run only where a new configuration is about as fast as the winner. Returns whether another
  /// round is worthwhile.
  bool revisit_each(const Phase& phase) {
    std::vector<std::size_t> order(agenda_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return visits_.tried(a).size() < visits_.tried(b).size(); });
    auto next = order.begin();
    bool improved = false;
    const auto start_next = [&](const std::vector<Visit>&) -> std::optional<Visit> {
      // Nothing is compiled that could not be measured before the budget ends.
      const double least = kWorthRevisit * revisit_seconds_;
      while (next != order.end() && !stop_.reached() && stop_.seconds_left().value_or(least) >= least) {
        const std::size_t place = *next++;
        const auto& result = visits_.result(place);
        if (!result || !result->searched || !result->profile) continue;
        if (auto visit = visits_.begin_again(place, phase, stop_.slice(1.0, 1.0))) return visit;
      }
      return std::nullopt;
    };
    visits_.take_turns(most_active_, start_next, [&](Visit& visit) {
      revisit_seconds_ = visit.search->time().seconds_used();
      const bool improves = visits_.improve(
          visit.place, visits_.challenge(visit) < kChallengerFactor ? visits_.finish(visit) : visits_.give_up(visit));
      improved = improved || improves;
    });
    return improved && !stop_.reached();
  }

  /// What all measurements together say: the model of times, and the best single mapping.
  void conclude() {
    const KernelFamily& family = evaluator_.family();
    const DeviceIdentity& device = evaluator_.device();
    std::vector<Measurement> measured = store_.measurements(std::string(family.name()), device, evaluator_.kernels());
    std::erase_if(measured, [](const Measurement& each) { return each.cold_cache; });
    const ExpectedCost model = trials_.compare_mappings() ? lessons_.model_of_times() : ExpectedCost();
    const auto single = best_single_mapping(family, device, visits_.winners(), screened_costs(measured), model);
    if (single && callbacks_.single_mapping) callbacks_.single_mapping(*single);
    if (can_be_timed(device.backend)) keep_model(measured);
  }

  /// An imported model stays if it rests on more measurements with these kernels.
  void keep_model(const std::vector<Measurement>& measured) {
    const KernelFamily& family = evaluator_.family();
    const DeviceIdentity& device = evaluator_.device();
    const auto prior = choose_model(family, device, models_, nullptr, false);
    const auto fitted = fit_model(family, device, measured, prior ? &*prior : nullptr);
    if (!fitted) return;
    store_.atomically([&] {
      const auto stored = store_.find_model(fitted->family, device);
      const bool better = stored && stored->imported && comparable(stored->kernels, fitted->kernels) &&
                          stored->measurements > fitted->measurements;
      if (!better) store_.keep(*fitted);
    });
    if (callbacks_.model) callbacks_.model(*fitted);
  }

  Evaluator& evaluator_;
  ProfileStore& store_;
  const TunerOptions& options_;
  const TunerCallbacks& callbacks_;
  const PoolShare pool_;
  const std::vector<Problem>& problems_;
  StopCondition& stop_;
  const std::size_t most_active_;  ///< searches that may be active at a time
  double revisit_seconds_ = 0.0;   ///< seconds that the last revisit took
  KnownProfiles known_;
  const std::vector<PlannedVisit> agenda_;  ///< as it was planned; the schedule may change its order
  Journal journal_;
  const std::vector<FittedModel> models_;  ///< as they were when the run began
  Lessons lessons_;
  Schedule schedule_;
  Visits visits_;
  WinnerTrials trials_;
};

}  // namespace

Tuner::Tuner(Evaluator& evaluator, ProfileStore& store, TunerOptions options, TunerCallbacks callbacks, PoolShare pool)
    : evaluator_(evaluator),
      store_(store),
      options_(std::move(options)),
      callbacks_(std::move(callbacks)),
      pool_(pool) {}

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
    return Tuning(evaluator_, store_, options_, callbacks_, pool_, problems, stop, run).tune();
  } catch (const Interrupted&) {  // while it asked the device between two searches
    return {};
  }
}

std::string Tuner::task(const std::vector<Problem>& problems) const {
  const KernelFamily& family = evaluator_.family();
  const DeviceIdentity& device = evaluator_.device();
  const KernelVersion& kernels = evaluator_.kernels();
  const Provenance provenance = evaluator_.provenance();
  // Stored in the database: a change of the words forgets which runs can be continued.
  std::string task = fmt::format(
      "{} {} {} on {}; driver {}; compiler {}; strategy {} seed {} screening {} hopeless {} finalists {} "
      "rounds {} to {} abreast {} between {}",
      family.name(), kernels.source_hash, kernels.contract_digest, device.text(), provenance.driver,
      provenance.compiler, options_.strategy, options_.seed, options_.screening_repetitions, options_.prune_factor,
      options_.finalists, options_.minimum_repetitions, options_.maximum_repetitions, concurrent_searches(evaluator_),
      options_.tune_sizes_between);
  if (options_.energy) task += " energy";
  if (options_.objective) task += fmt::format(" objective {}", options_.objective->text());
  if (options_.cold_cache) task += " cold";
  for (const Problem& problem : problems) task += fmt::format("\n{}", problem.text());
  return task;
}

}  // namespace heddle
