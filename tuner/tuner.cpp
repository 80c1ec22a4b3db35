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

namespace heddle {

namespace {

// Shares of the time budget.
constexpr double kFirstPass = 0.6;     // of a run with several problems: for the first search of each
constexpr double kUntunedSizes = 0.6;  // of the time after that: for sizes between the problems
// Of the time after the first searches: for values of what is chosen last, at problems that ended before another one
// had found them faster. What that does not need is for the rest.
constexpr double kLastChoices = 0.7;
// What such a problem is taken to need, as a part of a search: one kernel, and finals and a verification where it is
// faster.
constexpr double kLateChoice = 0.5;
// For the best single mapping: at most so much of the time that these leave, and of all evaluations. Of a minute that
// is up to 3.6 s: two for kernels that are compiled side by side, and for a hundred problems.
constexpr double kSingleMappingTime = 0.15, kSingleMappingEvaluations = 0.1;
constexpr int kMostSingleMappings = 3;  // at most so many are tried at all problems
// How long the last searches of a run are taken to be, as a part of the usual time: they have less to try.
constexpr double kLateSearch = 0.75;
// A revisit starts only if at least this many times the duration of the last revisit is left.
constexpr double kWorthRevisit = 1.0;
// A configuration whose screened cost is below this factor of the winner's may be faster in the finals.
constexpr double kChallengerFactor = 1.02;
// When its environment has changed, a profile is measured again beside so many of the fastest other configurations.
constexpr std::size_t kMaxContenders = 4;

/// The winners of the problems that were asked for.
std::vector<Profile> winners_asked_for(const std::vector<TuningResult>& results) {
  std::vector<Profile> profiles;
  profiles.reserve(results.size());
  for (const TuningResult& result : results) {
    if (result.profile && !result.is_between) profiles.push_back(*result.profile);
  }
  return profiles;
}

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
        space_(evaluator.family().space(evaluator.device())),
        most_active_(concurrent_searches(evaluator)),
        known_(store.profiles_before(run), store.displaced(), evaluator, options.goal()),
        agenda_(known_.agenda(problems, present_environment(evaluator, problems.front(), known_.know_clocks()))),
        journal_(store, evaluator, run, options),
        models_(store.models_before(run)),
        lessons_(evaluator, known_, problems, agenda_, journal_, models_),
        schedule_(lessons_, stop, agenda_, most_active_, pool),
        visits_(evaluator, store, options, callbacks, stop, journal_, lessons_, agenda_, pool) {}

  std::vector<TuningResult> tune() {
    const Phase first{.begin = 0.0, .length = agenda_.size() > 1 ? kFirstPass : 1.0};
    const Phase rest{.begin = first.length, .length = 1.0 - first.length};
    const double reserved = for_single_mapping();
    reserved_evaluations_ = reserved * static_cast<double>(stop_.evaluations_left().value_or(0));
    StopCondition time = stop_.slice(first.length, 1.0 - reserved);
    remeasure_changed(first, time);
    search_each(first, time);
    try_last_choices(rest);
    try_single_mappings(rest);
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
    std::vector<TuningResult> results = visits_.results();
    conclude(results);
    return results;
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
    constexpr double kFewest = 3.0, kUsual = Suggestions::kFirst;
    const auto left = stop_.seconds_left();
    const Visits::Usual& usual = visits_.usual();
    if (!left || usual.searches == 0) return Suggestions::kFirst;
    const double later = kLateChoice * static_cast<double>(late_choices());
    const double may_take = *left / (schedule_.unstarted() + static_cast<double>(active) + later);
    const double too_many = usual.configurations * (1.0 - may_take / usual.seconds);
    return static_cast<std::size_t>(std::clamp(usual.first - too_many, kFewest, kUsual));
  }

  /// Problems that count as tuned although this run has no result of them.
  [[nodiscard]] std::vector<Problem> under_way(const std::vector<Visit>& active) const {
    std::vector<Problem> problems = problems_of(active);
    std::ranges::move(pool_.taken_by_others(), std::back_inserter(problems));
    return problems;
  }

  /// The best that is known of what is chosen last for the winner of a problem, if that has not been tried there.
  [[nodiscard]] std::optional<Configuration> last_choice_for(std::size_t place) const {
    const auto& result = visits_.result(place);
    if (!result || !result->searched || !result->profile) return std::nullopt;
    const Configuration winner = space_.parse(result->profile->configuration);
    auto best = lessons_.last_choices().best(winner, result->problem);
    if (!best || *best == winner || visits_.tried(place).contains(best->text())) return std::nullopt;
    return best;
  }

  /// The number of problems for which last_choice_for() has something. To find that out takes a while: it is found out
  /// again only where something was learnt since.
  [[nodiscard]] std::size_t late_choices() {
    std::size_t count = 0;
    for (std::size_t place = 0; place < agenda_.size(); ++place) {
      if (!visits_.result(place)) continue;
      auto& [revision, has_one] = late_choices_[place];
      if (revision != lessons_.last_choices().revision()) {
        revision = lessons_.last_choices().revision();
        has_one = last_choice_for(place).has_value();
      }
      if (has_one) ++count;
    }
    return count;
  }

  /// Tries last_choice_for() at all problems. Each trial says how good such values are, so that one that seemed good by
  /// chance is not tried everywhere.
  void try_last_choices(const Phase& phase) {
    if (agenda_.size() < 2) return;
    const double left = static_cast<double>(stop_.evaluations_left().value_or(0));
    const double spare = left > 0.0 ? std::max(0.0, 1.0 - reserved_evaluations_ / left) : 1.0;
    StopCondition time = stop_.slice(kLastChoices, spare);
    std::size_t place = 0;
    const auto next = [&]() -> std::optional<Trial> {
      for (; place < agenda_.size(); ++place) {
        if (auto best = last_choice_for(place)) return Trial{visits_.result(place++)->problem, *std::move(best)};
      }
      return std::nullopt;
    };
    try_each(next, phase, time, time);
  }

  /// Tries the likeliest best single mapping at the problems that did not, so that the run can say what a winner for
  /// each problem gains over one mapping for all. Then another one, as long as that makes another one the likeliest.
  void try_single_mappings(const Phase& phase) {
    if (!compares_mappings()) return;
    StopCondition time = stop_.slice(kSingleMappingTime, 1.0);
    std::optional<Configuration> last;
    for (int count = 0; count < kMostSingleMappings && !time.reached(); ++count) {
      const auto likely = lessons_.likely_single_mapping(winners_asked_for(visits_.results()));
      if (!likely || likely->configuration == last) return;
      if (time.seconds_left().value_or(HUGE_VAL) < seconds_to_compile(*likely)) return;
      last = likely->configuration;
      auto problem = likely->untried.begin();
      const auto next = [&]() -> std::optional<Trial> {
        if (problem == likely->untried.end()) return std::nullopt;
        return Trial{*problem++, likely->configuration};
      };
      try_each(next, phase, time, stop_);
    }
  }

  /// Whether this run compares its winners with a single mapping: by the time with a warm cache, as the report does.
  [[nodiscard]] bool compares_mappings() const { return agenda_.size() > 1 && options_.goal().is_usual(); }

  /// The part of the evaluations that the first searches leave for that: one for each problem.
  [[nodiscard]] double for_single_mapping() const {
    const auto left = stop_.evaluations_left();
    if (!left || !compares_mappings()) return 0.0;
    return std::min(kSingleMappingEvaluations, static_cast<double>(agenda_.size()) / static_cast<double>(*left));
  }

  /// How long its new kernels take all threads of the compiler, if they are as those so far.
  [[nodiscard]] double seconds_to_compile(const LikelyMapping& mapping) const {
    double seconds = 0.0;
    std::int64_t evaluations = 0;
    for (const TuningResult& result : visits_.results()) {
      seconds += result.effort.compiling;
      evaluations += result.evaluations();
    }
    if (evaluations == 0) return 0.0;
    return static_cast<double>(mapping.kernels) * seconds / static_cast<double>(evaluations) /
           static_cast<double>(std::max<std::size_t>(evaluator_.compiler_threads(), 1));
  }

  /// A configuration to be tried at a problem that has a winner.
  struct Trial {
    Problem problem;
    Configuration configuration;
  };

  /// Measures all of them first, so that the time for that is not spent on finals. These follow where one was faster
  /// than the winner, where it gained most first, while `finals` has time.
  template <class Next>
  void try_each(Next next, const Phase& phase, StopCondition& time, const StopCondition& finals) {
    std::vector<std::pair<double, Visit>> faster;
    const auto start_next = [&](const std::vector<Visit>&) -> std::optional<Visit> {
      if (time.reached()) return std::nullopt;
      const std::optional<Trial> trial = next();
      if (!trial) return std::nullopt;
      return visits_.begin_with(trial->problem, trial->configuration, phase, time.slice(1.0, 1.0));
    };
    visits_.take_turns(most_active_, start_next, [&](Visit& visit) {
      if (const double ratio = challenge(visit); ratio < 1.0) {
        faster.emplace_back(ratio, std::move(visit));
      } else {
        visits_.improve(visit.place, visits_.give_up(visit));
      }
    });
    std::ranges::stable_sort(faster, {}, [](const auto& each) { return each.first; });
    for (auto& [ratio, visit] : faster) {
      visits_.improve(visit.place, finals.seconds_left() == 0.0 ? visits_.give_up(visit) : visits_.finish(visit));
    }
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
          visit.place, challenge(visit) < kChallengerFactor ? visits_.finish(visit) : visits_.give_up(visit));
      improved = improved || improves;
    });
    return improved && !stop_.reached();
  }

  /// The lowest cost of what this visit tried for the first time, beside the winner's.
  [[nodiscard]] double challenge(const Visit& visit) const {
    const Attempts& attempts = visit.search->attempts();
    const auto winner = attempts.cost(visits_.result(visit.place)->profile->configuration);
    double least = HUGE_VAL;
    for (const std::string& text : attempts.tried()) {
      const auto cost = attempts.cost(text);
      const bool fresh = !visits_.tried(visit.place).contains(text);
      if (fresh && cost) least = std::min(least, winner ? *cost / *winner : 0.0);
    }
    return least;
  }

  /// What all measurements together say: the model of times, and the best single mapping.
  void conclude(const std::vector<TuningResult>& results) {
    const KernelFamily& family = evaluator_.family();
    const DeviceIdentity& device = evaluator_.device();
    std::vector<Measurement> measured = store_.measurements(std::string(family.name()), device, evaluator_.kernels());
    std::erase_if(measured, [](const Measurement& each) { return each.cold_cache; });
    const ExpectedCost model = compares_mappings() ? lessons_.model_of_times() : ExpectedCost();
    const auto single =
        best_single_mapping(family, device, winners_asked_for(results), screened_costs(measured), model);
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
  const SearchSpace space_;
  const std::size_t most_active_;  ///< searches that may be active at a time
  std::map<std::size_t, std::pair<std::size_t, bool>>
      late_choices_;                   ///< by place: LastChoices::revision(), and whether
  double reserved_evaluations_ = 0.0;  ///< that the first searches left for a single mapping
  double revisit_seconds_ = 0.0;       ///< seconds that the last revisit took
  KnownProfiles known_;
  const std::vector<PlannedVisit> agenda_;  ///< as it was planned; the schedule may change its order
  Journal journal_;
  const std::vector<FittedModel> models_;  ///< as they were when the run began
  Lessons lessons_;
  Schedule schedule_;
  Visits visits_;
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
