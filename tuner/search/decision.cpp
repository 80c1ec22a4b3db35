#include "heddle/tuner/search/decision.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "heddle/runtime/device/cpu/stolen_time.hpp"
#include "heddle/runtime/device/device_failure.hpp"
#include "heddle/tuner/statistics.hpp"

namespace heddle {

namespace {

constexpr double kSlowRound = 0.5;      // seconds of a round of the finals
constexpr double kEnergySeconds = 1.3;  // of a finalist whose energy is measured: see joules_of_launch()
// Messages of finalists that cannot win. A continued run recognises them in the database.
constexpr const char* kBeaten = "clearly slower than the fastest";
constexpr const char* kLosesWhenBusy = "fewer threads are the better choice where another program takes a core";

std::vector<std::size_t> configurations_of(const std::vector<Finalist>& finalists) {
  std::vector<std::size_t> configurations;
  configurations.reserve(finalists.size());
  for (const Finalist& finalist : finalists) configurations.push_back(finalist.configuration);
  return configurations;
}

}  // namespace

void Decision::reach() {
  if (take_from_journal()) return;
  while (!winner_ && !context_.stop.interrupted()) {
    std::vector<Finalist> finalists = next_finalists();
    if (finalists.empty()) return;
    queue_.compile_now(configurations_of(finalists));
    report_(Stage::finals);
    run(finalists);
    for (const Finalist& finalist : finalists) {
      if (finalist.failed()) record(finalist);
    }
    choose_winner(finalists, false);
    bool finalist_failed = false;  // a finalist failed, so a slower configuration may win
    for (Finalist& finalist : finalists) {
      finalist_failed = finalist_failed || finalist.failed();
      if (!finalist.failed() && finalist.times.empty()) continue;  // did not get to run
      if (!finalist.failed()) record(finalist);
      finalists_[finalist.configuration] = std::move(finalist);
    }
    if (winner_ && finalist_failed && faster_is_waiting(median(winner_->finalist.costs()))) winner_.reset();
  }
}

/// From what the screening has taken so far: each finalist is prepared once and measured maximum_repetitions times, on
/// a quiet device minimum_repetitions times, and one verification on all shapes takes about as long as two on one.
double Decision::expected_seconds() const {
  const TunerOptions& options = context_.options;
  const double of_screened =
      context_.effort.measuring / static_cast<double>(std::max<std::int64_t>(screener_.timed(), 1));
  const int rounds = context_.evaluator.shares_processor() ? options.maximum_repetitions : options.minimum_repetitions;
  const double times = static_cast<double>(rounds) / options.screening_repetitions;
  const double of_finalist = times * of_screened + (options.energy ? kEnergySeconds : 0.0);
  return static_cast<double>(options.finalists) * of_finalist + 2.0 * verdicts_.longest_seconds();
}

void Decision::run(std::vector<Finalist>& finalists) {
  const StopCondition& stop = context_.stop;
  const TunerOptions& options = context_.options;
  const Stopwatch stopwatch(context_.effort.measuring, stop);
  StolenTime stolen;
  const bool shares_processor = context_.evaluator.shares_processor();
  run_finals(
      finalists,
      [this](std::size_t configuration) {
        return context_.evaluator.prepare(context_.problem.at(configuration), context_.problem.problem(),
                                          screener_.samples());
      },
      {.minimum_rounds = options.minimum_repetitions,
       .maximum_rounds = options.maximum_repetitions,
       .seed = options.seed,
       .disturbed = [&] { return shares_processor && stolen.disturbed(); },
       .energy = options.energy || (options.objective && options.objective->needs_energy(context_.evaluator.family())),
       .objective = objective()},
      [&, before = stop.now()](int round) {
        // Slow rounds are not repeated after the budget is used up.
        stolen = StolenTime();  // of this round
        const bool slow = round > 0 && (stop.now() - before) / round > kSlowRound;
        return stop.interrupted() || (round >= 2 * options.minimum_repetitions && stop.reached()) ||
               (slow && stop.must_abandon());
      });
  context_.pace.last_timed = stop.now();
}

std::function<double(const Finalist&, double)> Decision::objective() const {
  if (!context_.options.objective) return {};
  return [this](const Finalist& finalist, double time) {
    return context_.objective_of(finalist.configuration,
                                 {.time = time, .energy = finalist.energy, .resources = finalist.resources});
  };
}

/// Takes the finals of this visit from the journal. Returns whether an earlier process had finished them.
bool Decision::take_from_journal() {
  std::vector<Finalist> finalists;
  bool concluded = false;
  for (const Measurement& known : context_.journal.known_finals()) {
    const auto configuration = context_.problem.find(known.configuration);
    if (!configuration) continue;
    Finalist& finalist = finalists.emplace_back();
    finalist.configuration = *configuration;
    finalist.times = known.times;
    finalist.message = known.message;
    finalist.worst_error = known.worst_error;
    finalist.resources = known.resources;
    finalist.energy = known.energy;
    if (const auto value = objective()) {
      for (const double time : finalist.times) finalist.values.push_back(value(finalist, time));
    }
    finalist.yields_to_fewer_threads = known.message == kLosesWhenBusy;
    finalist.beaten = known.status == Status::unverified && !known.message.empty() && !finalist.yields_to_fewer_threads;
    const bool failed = known.times.empty();
    if (failed) attempts_.reinstate_pruned();
    if (failed || known.status == Status::correct) {
      verdicts_.remember(*configuration,
                         {.status = known.status, .worst_error = known.worst_error, .message = known.message});
    }
    finalist.status = failed ? known.status : Status::unverified;
    screener_.set_samples(known.samples);
    concluded = concluded || !failed;
  }
  if (concluded) choose_winner(finalists, true);
  for (Finalist& finalist : finalists) finalists_[finalist.configuration] = std::move(finalist);
  return concluded;
}

/// The fastest configurations of the screening that have not failed since; the default; the named ones unless they are
/// far slower. On a CPU also the configuration most like the fastest with fewer threads.
std::vector<Finalist> Decision::next_finalists() const {
  const SearchedProblem& problem = context_.problem;
  const TunerOptions& options = context_.options;
  std::vector<std::pair<double, std::size_t>> fastest;
  for (const auto& [configuration, tried] : attempts_.outcomes()) {
    const auto past = finalists_.find(configuration);
    const bool failed = past != finalists_.end() && past->second.failed();
    if (tried.status == Status::unverified && !failed) fastest.emplace_back(*tried.cost, configuration);
  }
  std::sort(fastest.begin(), fastest.end());
  const double most_behind =
      context_.evaluator.shares_processor() ? options.finalist_factor : options.quiet_finalist_factor;
  std::vector<Finalist> finalists;
  for (const auto& [cost, configuration] : fastest) {
    const double behind = cost / fastest.front().first;
    if ((behind <= most_behind && finalists.size() < options.finalists) ||
        (behind <= options.prune_factor && problem.is_protected(configuration)) || problem.is_untuned(configuration)) {
      finalists.emplace_back().configuration = configuration;
    }
  }
  if (finalists.empty()) return finalists;
  const auto twin = twin_with_fewer_threads(fastest.front().second);
  if (twin && std::ranges::find(finalists, *twin, &Finalist::configuration) == finalists.end()) {
    finalists.emplace_back().configuration = *twin;
  }
  return finalists;
}

/// Whether a configuration that was never in the finals was screened faster than `time`.
bool Decision::faster_is_waiting(double time) const {
  return std::any_of(attempts_.outcomes().begin(), attempts_.outcomes().end(), [&](const auto& entry) {
    const auto& [configuration, tried] = entry;
    return tried.status == Status::unverified && *tried.cost < time && !finalists_.contains(configuration);
  });
}

void Decision::choose_winner(std::vector<Finalist>& finalists, bool known) {
  report_(Stage::verification);
  context_.journal.read_clocks();
  const SearchedProblem& problem = context_.problem;
  for (Ranking ranking = rank(finalists); !ranking.order.empty() && !context_.stop.interrupted();
       ranking = rank(finalists)) {
    const auto tied = ranking.order.begin() + static_cast<std::ptrdiff_t>(ranking.ties);
    // Where the time was over after a few rounds, nothing can be told apart, whatever lies between.
    const bool had_rounds =
        finalists[ranking.order.front()].times.size() >= static_cast<std::size_t>(context_.options.minimum_repetitions);
    const auto compared = had_rounds ? tied : std::next(ranking.order.begin());
    const auto simplest = std::min_element(ranking.order.begin(), compared, [&](std::size_t a, std::size_t b) {
      const auto rank_of = [&](std::size_t configuration) {
        return std::tuple(problem.host_threads(configuration),
                          problem.differing_parameters(configuration, problem.untuned()), configuration);
      };
      return rank_of(finalists[a].configuration) < rank_of(finalists[b].configuration);
    });
    Finalist& candidate = finalists[*simplest];
    if (!known && compare_with_fewer_threads(candidate, finalists)) {
      candidate.yields_to_fewer_threads = true;
      continue;
    }
    const Verdict& verdict = verdicts_.verify(candidate.configuration, screener_.samples());
    candidate.status = verdict.status;
    candidate.message = verdict.message;
    candidate.worst_error = verdict.worst_error;
    if (verdict.status != Status::correct) {
      record(candidate);
      attempts_.reinstate_pruned();
      continue;
    }
    winner_ = Winner{.finalist = candidate, .ties = {}};
    for (auto other = ranking.order.begin(); other != tied; ++other) {
      if (other != simplest) winner_->ties.push_back(problem.at(finalists[*other].configuration).text());
    }
    return;
  }
}

/// Verifies and measures the fastest finalist with fewer host threads, if there is one. Returns whether it is the
/// better choice on a machine that may be busy. More threads are preferred only if they gain on a quiet machine, and
/// lose little enough while one core is busy (TunerOptions::max_busy_core_loss).
bool Decision::compare_with_fewer_threads(const Finalist& candidate, const std::vector<Finalist>& finalists) {
  const SearchedProblem& problem = context_.problem;
  if (context_.options.objective) return false;  // the times do not decide
  const Finalist* other = nullptr;
  for (const Finalist& finalist : finalists) {
    if (finalist.failed() || finalist.times.empty()) continue;
    if (problem.host_threads(finalist.configuration) >= problem.host_threads(candidate.configuration)) continue;
    if (other == nullptr || median(finalist.times) < median(other->times)) other = &finalist;
  }
  if (other == nullptr) return false;
  if (verdicts_.verify(other->configuration, screener_.samples()).status != Status::correct) return false;
  const auto ratios = compare_on_shared_cores(candidate.configuration, other->configuration);
  if (!ratios) return false;
  // A machine is quiet more often than it is busy: the gain counts twice.
  const double allowed = std::min(ratios->gain * ratios->gain, context_.options.max_busy_core_loss);
  return ratios->loss > allowed;
}

/// Compares the times of two configurations on a quiet machine and while one core is busy. All are medians of turns,
/// and the turns are much longer than a repetition in the finals: threads of a team lose whole time slices to other
/// programs. A turn in which the host of a virtual machine gave its cores to other guests is measured again. Nothing if
/// the device cannot be shared in this way, or if one of the two fails.
std::optional<Decision::SharedCoreRatios> Decision::compare_on_shared_cores(std::size_t configuration,
                                                                            std::size_t other) {
  const StopCondition& stop = context_.stop;
  const Stopwatch stopwatch(context_.effort.measuring, stop);
  const auto prepare = [this](std::size_t which) {
    return context_.evaluator.prepare(context_.problem.at(which), context_.problem.problem(), screener_.samples());
  };
  const auto quiet_time = [this](Runner& runner) {
    std::vector<double> times;
    for (double seconds = 0.0; seconds < context_.options.shared_core_turn;) {
      times.push_back(runner.time());
      seconds += times.back() * 1e-6 * static_cast<double>(screener_.samples());
    }
    return median(times);
  };
  try {
    const auto first = prepare(configuration);
    const auto second = prepare(other);
    std::vector<double> busy, busy_other, quiet, quiet_other;
    int repeats = 2 * context_.options.shared_core_turns;
    for (int i = 0; i < context_.options.shared_core_turns && !stop.interrupted(); ++i) {
      StolenTime stolen;
      const auto time = first->busy_core_time();
      const auto other_time = time ? second->busy_core_time() : std::nullopt;
      if (!other_time) return std::nullopt;
      const double quiet_first = quiet_time(*first), quiet_second = quiet_time(*second);
      if (stolen.disturbed() && repeats-- > 0) {
        --i;
        continue;
      }
      busy.push_back(*time);
      busy_other.push_back(*other_time);
      quiet.push_back(quiet_first);
      quiet_other.push_back(quiet_second);
    }
    if (busy.empty()) return std::nullopt;
    return SharedCoreRatios{.gain = median(quiet_other) / median(quiet), .loss = median(busy) / median(busy_other)};
  } catch (const DeviceFailure& failure) {
    if (takes_device_down(failure.status())) context_.evaluator.check_device();
  }
  return std::nullopt;
}

/// Among the configurations with fewer host threads the one most like this; of equally similar ones the one with the
/// most threads.
std::optional<std::size_t> Decision::twin_with_fewer_threads(std::size_t configuration) const {
  const SearchedProblem& problem = context_.problem;
  const std::int64_t threads = problem.host_threads(configuration);
  std::optional<std::size_t> twin;
  if (threads <= 1) return twin;
  const Configuration own = problem.at(configuration);
  const auto rank_of = [&](std::size_t other) {
    return std::pair(problem.differing_parameters(other, own), -problem.host_threads(other));
  };
  for (std::size_t other = 0; other < problem.space().numbered(); ++other) {
    const Observation* const tried = attempts_.find(other);
    const bool failed = tried != nullptr && !tried->cost;
    if (failed || problem.host_threads(other) >= threads) continue;
    if (!twin || rank_of(other) < rank_of(*twin)) twin = other;
  }
  return twin;
}

/// Records a failed finalist at once. Keeps the measurement of the others until the decision is recorded.
void Decision::record(const Finalist& finalist) {
  Measurement measurement =
      context_.journal.blank_of_finals(context_.problem.at(finalist.configuration), screener_.samples());
  measurement.status = finalist.status;
  measurement.message = finalist.message;
  measurement.worst_error = finalist.worst_error;
  if (finalist.failed()) {
    context_.journal.add(std::move(measurement));
    return;
  }
  if (finalist.beaten) measurement.message = kBeaten;
  if (finalist.yields_to_fewer_threads) measurement.message = kLosesWhenBusy;
  measurement.times = finalist.times;
  measurement.cost = median(finalist.times);
  measurement.resources = finalist.resources;
  measurement.energy = finalist.energy;
  measurements_.push_back(std::move(measurement));
}

}  // namespace heddle
